//! A document with what was found in it: [`Checked`].

use opentool_spec::Report;

/// A document that was checked.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    /// What messages call it.
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) report: &'a Report,
}
