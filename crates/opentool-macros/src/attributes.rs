//! Which attributes of the user's code are ours, and which must be carried along.

use quote::ToTokens;
use syn::{Attribute, Error, Path, Result};

use crate::list::Given;

/// Says whether a path names one of our attributes, however it was imported.
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// Takes the attributes of that name out of the list.
pub(crate) fn take(attributes: &mut Vec<Attribute>, name: &str) -> Vec<Attribute> {
    attributes.extract_if(.., |attribute| is(attribute, name)).collect()
}

/// The conditions under which an item exists, so that what we emit for it exists under the same.
pub(crate) fn conditions(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}

/// Collects every fault of an item, so that its author sees all of them at once.
#[derive(Default)]
pub(crate) struct Faults(Option<Error>);

impl Faults {
    pub(crate) fn at(&mut self, place: &impl ToTokens, message: impl std::fmt::Display) {
        self.push(Error::new_spanned(place, message));
    }

    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) fn take<T: Default>(&mut self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.push(error);
            T::default()
        })
    }

    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// A path as the string that serde's and schemars' `crate` options want.
pub(crate) fn path_text(path: &impl ToTokens) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

/// Reads `crate = path`, also written as a string.
pub(crate) fn crate_path(given: &Given<'_>) -> Result<Path> {
    given.equals()?;
    if given.input.peek(syn::LitStr) {
        given.input.parse::<syn::LitStr>()?.parse_with(Path::parse_mod_style)
    } else {
        given.input.call(Path::parse_mod_style)
    }
}
