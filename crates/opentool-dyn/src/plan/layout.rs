//! How a struct lies in memory: [`StructLayout`].

use std::sync::Arc;

use super::scalar::Value;
use crate::encoding::Encoding;

/// A struct whose fields callers see (`x-struct`).
#[derive(Debug)]
pub(crate) struct StructLayout {
    /// Its name in C, or in the document.
    pub(crate) name: Box<str>,
    /// How many bytes it has.
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) fields: Box<[StructField]>,
    /// How many values it has, with those of the structs within it.
    pub(crate) leaves: usize,
    /// Why it cannot be passed by value, where it cannot.
    pub(crate) not_by_value: Option<String>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct StructField {
    pub(crate) name: Box<str>,
    /// The name as the key of a JSON object: quoted, and with its colon.
    pub(crate) key: Box<[u8]>,
    pub(crate) offset: usize,
    /// Whether the caller must give it.
    pub(crate) required: bool,
    pub(crate) content: FieldContent,
}

/// What a field of a struct holds.
#[derive(Debug)]
pub(crate) enum FieldContent {
    Scalar(Value),
    /// Text in an array of `char`, which a NUL ends where there is room for one.
    Text {
        size: usize,
        encoding: Encoding,
    },
    /// A pointer to text that ends with a NUL.
    TextPointer {
        encoding: Encoding,
    },
    /// An array of a fixed length.
    Array {
        element: Element,
        count: usize,
    },
    /// Another struct.
    Struct(Arc<StructLayout>),
}

/// What an array has elements of.
#[derive(Debug, Clone)]
pub(crate) enum Element {
    Scalar(Value),
    Struct(Arc<StructLayout>),
}

impl Element {
    /// How many bytes an element takes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Element::Scalar(value) => value.machine.size(),
            Element::Struct(layout) => layout.size,
        }
    }

    pub(crate) fn align(&self) -> usize {
        match self {
            Element::Scalar(value) => value.machine.size(),
            Element::Struct(layout) => layout.align,
        }
    }

    pub(crate) fn leaves(&self) -> usize {
        match self {
            Element::Scalar(_) => 1,
            Element::Struct(layout) => layout.leaves,
        }
    }
}

impl FieldContent {
    /// How many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        match self {
            FieldContent::Scalar(value) => value.machine.size(),
            FieldContent::Text { size, .. } => *size,
            FieldContent::TextPointer { .. } => size_of::<usize>(),
            FieldContent::Array { element, count } => element.size().saturating_mul(*count),
            FieldContent::Struct(layout) => layout.size,
        }
    }

    pub(crate) fn align(&self) -> usize {
        match self {
            FieldContent::Scalar(value) => value.machine.size(),
            FieldContent::Text { .. } => 1,
            FieldContent::TextPointer { .. } => size_of::<usize>(),
            FieldContent::Array { element, .. } => element.align(),
            FieldContent::Struct(layout) => layout.align,
        }
    }

    pub(crate) fn leaves(&self) -> usize {
        match self {
            FieldContent::Scalar(_) | FieldContent::Text { .. } | FieldContent::TextPointer { .. } => 1,
            FieldContent::Array { element, count } => element.leaves().saturating_mul(*count),
            FieldContent::Struct(layout) => layout.leaves,
        }
    }
}
