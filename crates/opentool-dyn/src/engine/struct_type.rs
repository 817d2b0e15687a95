//! libffi's description of a struct that is passed by value: [`StructType`].

use std::cell::UnsafeCell;

use libffi::low::{ffi_type, type_tag, types};

use crate::machine_type::type_of_machine;
use crate::plan::{Element, FieldContent, Machine, StructLayout};

/// The description of a struct, and of the structs within it.
#[derive(Debug)]
pub(super) struct StructType {
    /// libffi computes size and alignment when a call is prepared.
    described: Box<UnsafeCell<ffi_type>>,
    /// What the description points to.
    _elements: Box<[*mut ffi_type]>,
    _inner: Vec<StructType>,
    size: usize,
}

impl StructType {
    /// Describes a struct.
    ///
    /// # Errors
    ///
    /// Where it cannot be passed by value.
    pub(super) fn new(layout: &StructLayout) -> Result<Self, String> {
        if let Some(reason) = &layout.not_by_value {
            return Err(format!("`{}`: {reason}", layout.name));
        }
        let (mut elements, mut inner) = (Vec::new(), Vec::new());
        let mut fields: Vec<_> = layout.fields.iter().collect();
        fields.sort_by_key(|field| field.offset);
        for field in fields {
            match &field.content {
                FieldContent::Scalar(value) => elements.push(type_of_machine(value.machine)),
                FieldContent::Text { size, .. } => {
                    elements.extend(std::iter::repeat_n(type_of_machine(Machine::I8), *size));
                }
                FieldContent::TextPointer { .. } => elements.push(&raw mut types::pointer),
                FieldContent::Array { element: Element::Scalar(value), count } => {
                    elements.extend(std::iter::repeat_n(type_of_machine(value.machine), *count));
                }
                FieldContent::Array { element: Element::Struct(layout), count } => {
                    let made = StructType::new(layout)?;
                    elements.extend(std::iter::repeat_n(made.as_ptr(), *count));
                    inner.push(made);
                }
                FieldContent::Struct(layout) => {
                    let made = StructType::new(layout)?;
                    elements.push(made.as_ptr());
                    inner.push(made);
                }
            }
        }
        elements.push(std::ptr::null_mut());
        let mut elements: Box<[*mut ffi_type]> = elements.into();
        let described = ffi_type { size: 0, alignment: 0, type_: type_tag::STRUCT, elements: elements.as_mut_ptr() };
        Ok(StructType {
            described: Box::new(UnsafeCell::new(described)),
            _elements: elements,
            _inner: inner,
            size: layout.size,
        })
    }

    /// The description, which lives as long as this value, wherever that is moved.
    pub(super) fn as_ptr(&self) -> *mut ffi_type {
        self.described.get()
    }

    /// Whether libffi, which has computed the size by now, sees the struct as the document does.
    pub(super) fn is_as_expected(&self) -> bool {
        // SAFETY: libffi has written the size through the pointer that it was given, and is done with it.
        unsafe { (*self.as_ptr()).size == self.size }
    }
}
