//! The compile errors of one item: [`Errors`].

use quote::ToTokens;
use syn::{Error, Result};

/// Collects the errors of an item, so that its author sees all of them at once.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
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
