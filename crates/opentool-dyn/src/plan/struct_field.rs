//! A parameter that is a field of a struct behind a handle (`x-field`): [`FieldAccess`].

use super::buffer::Buffer;
use super::scalar::Value;
use crate::encoding::Encoding;

/// A field that is written before a call, or read after it.
#[derive(Debug)]
pub(crate) struct FieldAccess {
    /// The parameter that is the struct.
    pub(crate) of: usize,
    /// How many bytes after the start of the struct it is.
    pub(crate) offset: usize,
    pub(crate) content: AccessContent,
    /// What must be so for the field to mean anything.
    pub(crate) when: Option<Condition>,
}

/// What is written to a field or read from it.
#[derive(Debug)]
pub(crate) enum AccessContent {
    Scalar {
        value: Value,
        goes_in: bool,
        goes_out: bool,
    },
    /// A pointer to the caller's bytes, for as long as the call runs.
    BytesIn {
        encoding: Encoding,
        length: Option<LengthField>,
    },
    /// A pointer to a buffer for bytes, for as long as the call runs.
    BytesOut {
        encoding: Encoding,
        buffer: Buffer,
        length: Option<LengthField>,
    },
    /// A pointer of the library to its text.
    Text {
        encoding: Encoding,
        length: Option<LengthField>,
    },
}

/// The field that counts the bytes of another (`x-lengthField`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LengthField {
    pub(crate) offset: usize,
    pub(crate) value: Value,
}

/// A value of another result (`x-when`).
#[derive(Debug)]
pub(crate) struct Condition {
    /// The parameter; none for the return value.
    pub(crate) parameter: Option<usize>,
    pub(crate) is_one_of: Box<[i128]>,
}

impl FieldAccess {
    /// Whether it is part of the result.
    pub(crate) fn is_out(&self) -> bool {
        match self.content {
            AccessContent::Scalar { goes_out, .. } => goes_out,
            AccessContent::BytesIn { .. } => false,
            AccessContent::BytesOut { .. } | AccessContent::Text { .. } => true,
        }
    }

    /// Whether the caller gives it.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self.content, AccessContent::Scalar { goes_in: true, .. } | AccessContent::BytesIn { .. })
    }

    /// The last byte of the struct that is touched, plus one.
    pub(crate) fn end(&self) -> usize {
        let own = match self.content {
            AccessContent::Scalar { value, .. } => value.machine.size(),
            _ => size_of::<usize>(),
        };
        let length = match self.content {
            AccessContent::BytesIn { length, .. }
            | AccessContent::BytesOut { length, .. }
            | AccessContent::Text { length, .. } => {
                length.map_or(0, |length| length.offset + length.value.machine.size())
            }
            AccessContent::Scalar { .. } => 0,
        };
        length.max(self.offset + own)
    }
}
