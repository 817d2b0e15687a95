//! How values are written: [`Options`].

/// How the values of a library are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Options {
    /// Whether integers of 64 bits are written as strings.
    pub(crate) big_integers_as_strings: bool,
}
