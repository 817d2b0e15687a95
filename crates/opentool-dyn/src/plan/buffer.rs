//! How much memory a value has, and how much of it counts: [`Buffer`], [`Length`].

/// How large an out buffer is, and how much of it counts afterwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// How many elements it has where no parameter says it.
    pub(crate) size: usize,
    /// The parameter that passes the number of elements to the function.
    pub(crate) size_parameter: Option<usize>,
    /// What says afterwards how many of them count.
    pub(crate) length: Option<Length>,
}

/// What says how many elements of a buffer count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// A parameter: what the library has put there, or what the caller said.
    Parameter(usize),
    /// The return value.
    Return,
    /// A NUL, or else the end of so many bytes.
    Within(usize),
}
