//! Which attributes of the user's code are ours, and which must be kept.

use quote::ToTokens;
use syn::Attribute;

/// Says whether a path names one of our attributes, however it was imported.
pub(crate) fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// Takes the attributes of that name out of the list.
pub(crate) fn take(attributes: &mut Vec<Attribute>, name: &str) -> Vec<Attribute> {
    attributes.extract_if(.., |attribute| is(attribute, name)).collect()
}

/// The `cfg` conditions of an item, which apply to what is generated for it too.
pub(crate) fn conditions(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}

/// A path as the string that serde's and schemars' `crate` options want.
pub(crate) fn path_text(path: &impl ToTokens) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
