//! Fields of structs behind handles: written before a call, read and reset after it.

use opentool_core::{ArgumentError, ToolError};
use opentool_spec::json::pointer;

use crate::frame::{ArgumentState, Frame, Slot};
use crate::memory::{MemoryError, Options, pointer_in, push_text, push_text_at, push_value, word_of};
use crate::plan::{AccessContent, FieldAccess, Function, LengthField, Loaded, Passing};

/// Why a field cannot be part of a result.
pub(super) enum FieldError {
    Memory(MemoryError),
    /// A length that is not possible, and the most that is.
    Length(i128, usize),
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FieldError::Memory(error) => error.fmt(f),
            FieldError::Length(length, most) => write!(f, "has {length} bytes left: 0 to {most} are possible"),
        }
    }
}

impl From<MemoryError> for FieldError {
    fn from(error: MemoryError) -> Self {
        FieldError::Memory(error)
    }
}

/// The memory of the struct that a field is in.
#[derive(Clone, Copy)]
struct StructPointer(*mut u8);

impl StructPointer {
    /// The struct of a field; none where it is null.
    ///
    /// # Errors
    ///
    /// Where the field lies beyond what is known to be there: how many bytes are.
    fn locate(field: &FieldAccess, frame: &Frame) -> Result<Option<Self>, usize> {
        let slot = &frame.slots()[field.of];
        if slot.pointer.is_null() {
            return Ok(None);
        }
        if field.end() > slot.count {
            return Err(slot.count);
        }
        Ok(Some(StructPointer(slot.pointer.cast())))
    }

    fn write(self, offset: usize, bytes: &[u8]) {
        // SAFETY: `of` has made sure that the field lies within the struct where its size is known; else the document says
        // that it does. Only the call that holds the handle touches it.
        unsafe { self.0.add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn read(self, offset: usize, size: usize) -> [u8; 8] {
        let mut bytes = [0; 8];
        // SAFETY: as above; nothing is larger than eight bytes.
        unsafe { self.0.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), size.min(8)) };
        bytes
    }

    fn length(self, field: LengthField) -> Loaded {
        field.value.machine.load(word_of(&self.read(field.offset, field.value.machine.size())))
    }

    fn set_length(self, field: LengthField, length: usize) {
        let word = field.value.machine.word_of_integer(length as u64);
        self.write(field.offset, &word.to_ne_bytes()[..field.value.machine.size()]);
    }
}

/// Writes the fields that go in.
///
/// # Errors
///
/// Where a field is not within its struct, or there is no struct.
pub(super) fn write(function: &Function, frame: &Frame) -> Result<(), ToolError> {
    for (index, parameter) in function.parameters.iter().enumerate() {
        let Passing::Field(field) = &parameter.passing else { continue };
        let refuse = |reason: String| ArgumentError::new(pointer::to_member(&parameter.name), reason);
        let slot = &frame.slots()[index];
        let of = &function.parameters[field.of].name;
        let at = match StructPointer::locate(field, frame) {
            Ok(Some(at)) => at,
            Ok(None) if slot.state == ArgumentState::Value => {
                return Err(refuse(format!("it is a field of {of:?}, which is null")).into());
            }
            Ok(None) => continue,
            Err(size) => {
                let name = &function.name;
                return Err(ToolError::failed(format!(
                    "`{name}`: the field `{}` lies beyond the {size} bytes of `{of}`",
                    parameter.name
                )));
            }
        };
        let fits = |length: Option<LengthField>, count: usize| {
            length.is_none_or(|length| count as u64 <= length.value.machine.bounds().1)
        };
        match &field.content {
            AccessContent::Scalar { value, goes_in: true, .. } if slot.state == ArgumentState::Value => {
                at.write(field.offset, &slot.word.to_ne_bytes()[..value.machine.size()]);
            }
            AccessContent::BytesIn { length, .. } if slot.state == ArgumentState::Value => {
                if !fits(*length, slot.count) {
                    return Err(refuse(format!("its length of {} does not fit the field", slot.count)).into());
                }
                point(at, field.offset, slot, *length);
            }
            AccessContent::BytesOut { length, .. } => {
                if !fits(*length, slot.count) {
                    return Err(refuse(format!("its size of {} does not fit the field", slot.count)).into());
                }
                point(at, field.offset, slot, *length);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Points a field to the memory of a slot.
fn point(at: StructPointer, offset: usize, slot: &Slot, length: Option<LengthField>) {
    at.write(offset, &slot.pointer.expose_provenance().to_ne_bytes());
    if let Some(length) = length {
        at.set_length(length, slot.count);
    }
}

/// Makes sure that no field points to memory of the call any more.
pub(super) fn reset(function: &Function, frame: &Frame) {
    for (index, parameter) in function.parameters.iter().enumerate() {
        let Passing::Field(field) = &parameter.passing else { continue };
        let length = match &field.content {
            AccessContent::BytesIn { length, .. } if frame.slots()[index].state == ArgumentState::Value => length,
            AccessContent::BytesOut { length, .. } => length,
            _ => continue,
        };
        if let Ok(Some(at)) = StructPointer::locate(field, frame) {
            at.write(field.offset, &[0; size_of::<usize>()]);
            if let Some(length) = length {
                at.set_length(*length, 0);
            }
        }
    }
}

/// The integer that a field holds.
pub(super) fn integer(field: &FieldAccess, frame: &Frame) -> Option<Loaded> {
    let AccessContent::Scalar { value, .. } = &field.content else { return None };
    let at = StructPointer::locate(field, frame).ok().flatten()?;
    Some(value.machine.load(word_of(&at.read(field.offset, value.machine.size()))))
}

/// Appends what a field holds after the call; null where it means nothing.
///
/// # Errors
///
/// Where it cannot be part of a result.
pub(super) fn read(
    field: &FieldAccess,
    index: usize,
    frame: &Frame,
    options: Options,
    is_there: bool,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    let Some(at) = StructPointer::locate(field, frame).ok().flatten().filter(|_| is_there) else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    let slot = &frame.slots()[index];
    let counted = |field: LengthField, most: usize| {
        let said = at.length(field);
        let wrong = || FieldError::Length(said.code().unwrap_or_default(), most);
        said.count().filter(|count| *count <= most).ok_or_else(wrong)
    };
    match &field.content {
        AccessContent::Scalar { value, .. } => {
            push_value(*value, word_of(&at.read(field.offset, value.machine.size())), options, out);
        }
        AccessContent::Text { encoding, length } => {
            let text = pointer_in(&at.read(field.offset, size_of::<usize>()));
            let count = length.map(|length| counted(length, usize::MAX)).transpose()?;
            // SAFETY: the document says that the field is null or points to text, which ends with a NUL or is counted.
            unsafe { push_text_at(text, count, *encoding, out)? };
        }
        AccessContent::BytesOut { encoding, length, .. } => {
            let bytes = slot.pages.as_ref().map_or(&[][..], |pages| pages.tail(slot.count));
            let written = match length {
                Some(length) => slot.count - counted(*length, slot.count)?,
                None if encoding.is_text() => memchr::memchr(0, bytes).unwrap_or(bytes.len()),
                None => bytes.len(),
            };
            push_text(&bytes[..written], *encoding, out)?;
        }
        AccessContent::BytesIn { .. } => out.extend_from_slice(b"null"),
    }
    Ok(())
}
