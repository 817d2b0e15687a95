//! What a callback takes and gives back (`x-callback`): [`Callback`].

use super::scalar::Value;
use crate::encoding::Encoding;

/// A callback that records what it is called with.
#[derive(Debug)]
pub(crate) struct Callback {
    /// The name of its parameter.
    pub(crate) name: Box<str>,
    /// What it takes, in the order of C.
    pub(crate) arguments: Box<[CallbackArgument]>,
    /// What it gives back each time.
    pub(crate) answer: CallbackAnswer,
    /// How many calls are recorded at the most.
    pub(crate) most: usize,
    /// Whether what is recorded belongs to a handle, until it is asked for.
    pub(crate) kept: bool,
}

/// What a callback takes.
#[derive(Debug)]
pub(crate) struct CallbackArgument {
    /// The name as the key of a JSON object; none where it is not recorded.
    pub(crate) key: Option<Box<[u8]>>,
    pub(crate) kind: CallbackKind,
}

/// How an argument of a callback is read.
#[derive(Debug)]
pub(crate) enum CallbackKind {
    Scalar(Value),
    /// A pointer to one scalar.
    Element(Value),
    /// A pointer to text, which ends with a NUL or is as long as another argument says.
    Text {
        encoding: Encoding,
        count: Option<usize>,
    },
    /// A pointer to pointers to text: as many as another argument says, or up to a null pointer.
    Texts {
        encoding: Encoding,
        count: Option<usize>,
    },
    /// A pointer that means nothing to the caller.
    Opaque,
}

/// What a callback gives back each time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallbackAnswer {
    Nothing,
    /// A scalar, as a word that begins with it.
    Scalar(Value, u64),
    /// A null pointer.
    Null,
}
