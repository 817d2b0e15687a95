//! The conditions under which code is compiled.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// The predicate of a `cfg` attribute, without blanks.
pub(crate) fn predicate(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            Some(list.tokens.to_string().chars().filter(|c| !c.is_whitespace()).collect())
        }
        _ => None,
    }
}

/// Says whether an attribute keeps code out of every build but that of tests.
pub(crate) fn is_test(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args().is_ok_and(|predicate| needs_test(&predicate))
        }
        _ => false,
    }
}

/// Says whether a predicate is false wherever `test` is.
///
/// `not(…)` is taken as true somewhere, without a look inside.
fn needs_test(predicate: &Meta) -> bool {
    let Meta::List(list) = predicate else { return predicate.path().is_ident("test") };
    let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else { return false };
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else if list.path.is_ident("any") {
        parts.iter().all(needs_test)
    } else {
        false
    }
}
