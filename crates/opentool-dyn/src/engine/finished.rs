//! A call that has returned: its result, as a JSON object.

use std::ffi::c_void;
use std::sync::Arc;

use indexmap::IndexMap;
use opentool_core::ToolError;
use serde_json::json;

use super::callable::Callable;
use super::field_access;
use super::handles::{Handles, NewHandle};
use super::prepared::Register;
use super::retained::RetainedMemory;
use crate::closure::Record;
use crate::encoding::push_json_string;
use crate::frame::Frame;
use crate::memory::{
    MemoryError, Options, push_elements, push_struct, push_text, push_text_at, push_value, string_length, word_of,
};
use crate::plan::{
    Buffer, Condition, Function, HandleSource, Length, Loaded, Parameter, ParentHandle, Passing, Pointed, Returned,
    StructLayout,
};

/// What a call left behind.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) register: Register,
    /// The struct that was returned by value.
    pub(super) returned: Vec<u64>,
    pub(super) errno: i32,
}

/// A call that has returned.
pub(super) struct FinishedCall<'a> {
    pub(super) function: &'a Function,
    pub(super) callable: &'a Callable,
    pub(super) handles: &'a Handles,
    pub(super) options: Options,
    pub(super) frame: &'a mut Frame,
    pub(super) outcome: Outcome,
    /// The handles that the call has made, for what must be kept with them.
    pub(super) made: Vec<(HandleSource, String)>,
}

impl FinishedCall<'_> {
    /// The code that says failure, where the function returns codes and this is one.
    pub(super) fn failing_code(&self) -> Option<i128> {
        let success = self.function.success.as_ref()?;
        let code = self.returned_integer()?.code()?;
        (!success.includes(code)).then_some(code)
    }

    fn returned_integer(&self) -> Option<Loaded> {
        match &self.function.returns.as_ref()?.kind {
            Returned::Value(value) => Some(value.machine.load(self.outcome.register.word(value.machine))),
            _ => None,
        }
    }

    /// Writes the result object.
    pub(super) fn write(&mut self, succeeded: bool, out: &mut Vec<u8>) -> Result<(), ToolError> {
        let function = self.function;
        out.push(b'{');
        if let Some(returns) = &function.returns {
            out.extend_from_slice(&returns.key);
            self.write_returned(&returns.kind, &returns.name, out)?;
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            if parameter.passing.is_out() {
                if out.len() > 1 {
                    out.push(b',');
                }
                out.extend_from_slice(&parameter.key);
                self.write_out(index, parameter, succeeded, out)?;
            }
        }
        if function.errno {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(b"\"errno\":");
            out.extend_from_slice(itoa::Buffer::new().format(self.outcome.errno).as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    fn write_out(
        &mut self,
        index: usize,
        parameter: &Parameter,
        succeeded: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), ToolError> {
        let name = &*parameter.name;
        match &parameter.passing {
            Passing::Cell { value, .. } => push_value(*value, self.frame.slots()[index].word, self.options, out),
            Passing::HandleOut { kind, parent } => {
                let pointer = self.frame.slots()[index].cell_pointer();
                self.write_handle(HandleSource::Parameter(index), pointer, None, kind, *parent, out);
            }
            Passing::Allocated { kind, size, parent } => {
                if succeeded {
                    let pointer = self.frame.slots()[index].pointer;
                    let token =
                        self.write_handle(HandleSource::Parameter(index), pointer, Some(*size), kind, *parent, out);
                    self.handles.retain(token.as_bytes(), RetainedMemory::take(self.frame.slot(index)));
                } else {
                    out.extend_from_slice(b"null");
                }
            }
            Passing::Indirect { pointed, .. } => {
                let pointer = self.frame.slots()[index].cell_pointer();
                self.write_pointed(pointed, pointer, name, out)?;
            }
            Passing::TextOut { buffer, encoding } => {
                let slot = &self.frame.slots()[index];
                let bytes = slot.pages.as_ref().map_or(&[][..], |pages| pages.tail(slot.count));
                let length = match self.length(buffer, name, slot.count)? {
                    Some(length) => length,
                    None if !encoding.is_text() => slot.count,
                    None => memchr::memchr(0, bytes).ok_or_else(|| self.unterminated(name, slot.count))?,
                };
                push_text(&bytes[..length], *encoding, out).map_err(|error| self.unwritable(name, &error))?;
            }
            Passing::ArrayOut { element, buffer } => {
                let slot = &self.frame.slots()[index];
                let size = element.size();
                let bytes = slot.pages.as_ref().map_or(&[][..], |pages| pages.tail(slot.count * size));
                let length = self.length(buffer, name, slot.count)?.unwrap_or(slot.count);
                // SAFETY: the document says that texts which structs point to end with a NUL.
                let written = unsafe { push_elements(element, &bytes[..length * size], self.options, out) };
                written.map_err(|error| self.unwritable(name, &error))?;
            }
            Passing::Struct { layout, .. } => {
                let slot = &self.frame.slots()[index];
                match &slot.pages {
                    Some(pages) => self.write_struct(layout, pages.tail(layout.size), name, out)?,
                    None => out.extend_from_slice(b"null"),
                }
            }
            Passing::Callback(_) => self.write_record(self.frame.slots()[index].record.clone(), out)?,
            Passing::Events { of } => {
                let record = self.handles.record(self.frame.slots()[*of].block.as_bytes());
                self.write_record(record, out)?;
            }
            Passing::Field(field) => {
                let is_there = field.when.as_ref().is_none_or(|condition| self.holds(condition));
                match field_access::read(field, index, self.frame, self.options, is_there, out) {
                    Ok(()) => {}
                    Err(error) => return Err(self.invalid(format_args!("`{name}` {error}"))),
                }
            }
            Passing::Value(_)
            | Passing::Text { .. }
            | Passing::Array { .. }
            | Passing::Handle { .. }
            | Passing::StructValue { .. }
            | Passing::UserData => out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    fn write_returned(&mut self, kind: &Returned, name: &str, out: &mut Vec<u8>) -> Result<(), ToolError> {
        let register = self.outcome.register;
        match kind {
            Returned::Value(value) => push_value(*value, register.word(value.machine), self.options, out),
            Returned::Handle { kind, parent } => {
                self.write_handle(HandleSource::Return, register.pointer(), None, kind, *parent, out);
            }
            Returned::Pointer(pointed) => self.write_pointed(pointed, register.pointer(), name, out)?,
            Returned::Struct(layout) => {
                // SAFETY: the words are initialised, and every byte pattern is a byte.
                let bytes = unsafe {
                    std::slice::from_raw_parts(self.outcome.returned.as_ptr().cast(), self.outcome.returned.len() * 8)
                };
                self.write_struct(layout, bytes, name, out)?;
            }
        }
        Ok(())
    }

    /// Writes what a pointer of the library points to.
    fn write_pointed(
        &self,
        pointed: &Pointed,
        pointer: *mut c_void,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), ToolError> {
        if pointer.is_null() {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        let pointer = pointer.cast_const().cast::<u8>();
        let written = match pointed {
            Pointed::Element(value) => {
                // SAFETY: the document says that this points to one value of the type; it cannot be checked here.
                let bytes = unsafe { std::slice::from_raw_parts(pointer, value.machine.size()) };
                push_value(*value, word_of(bytes), self.options, out);
                Ok(())
            }
            Pointed::Text { encoding, length } => {
                let count = match length {
                    Some(Length::Within(size)) if encoding.is_text() => {
                        // SAFETY: the document says that so many bytes are there.
                        Some(unsafe { string_length(pointer.cast(), *size) })
                    }
                    Some(length) => Some(self.counted(*length, name, usize::MAX)?),
                    None => self.length_in_buffer(pointer, name)?,
                };
                // SAFETY: the document says that this points to text which ends with a NUL or is as long as it says; no
                // more than that is read.
                unsafe { push_text_at(pointer, count, *encoding, out) }
            }
            Pointed::Array { element, size, length } => {
                let count = match length {
                    Some(length) => self.counted(*length, name, *size)?,
                    None => *size,
                };
                // SAFETY: the document says that this points to so many elements.
                unsafe {
                    let bytes = std::slice::from_raw_parts(pointer, count * element.size());
                    push_elements(element, bytes, self.options, out)
                }
            }
            Pointed::Struct(layout) => {
                // SAFETY: the document says that this points to such a struct.
                let bytes = unsafe { std::slice::from_raw_parts(pointer, layout.size) };
                return self.write_struct(layout, bytes, name, out);
            }
        };
        written.map_err(|error| self.unwritable(name, &error))
    }

    /// The length of a text that begins in a buffer of the call, beyond which nothing may be read; none for other texts.
    fn length_in_buffer(&self, text: *const u8, name: &str) -> Result<Option<usize>, ToolError> {
        for pages in self.frame.slots().iter().filter_map(|slot| slot.pages.as_ref()) {
            let bytes = pages.tail(pages.size());
            if bytes.as_ptr_range().contains(&text) {
                let rest = &bytes[text.addr() - bytes.as_ptr().addr()..];
                return memchr::memchr(0, rest).map(Some).ok_or_else(|| self.unterminated(name, rest.len()));
            }
        }
        Ok(None)
    }

    fn write_struct(
        &self,
        layout: &StructLayout,
        bytes: &[u8],
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), ToolError> {
        // SAFETY: the document says that texts which the struct points to end with a NUL.
        let written = unsafe { push_struct(layout, bytes, self.options, out) };
        written.map_err(|error| self.unwritable(name, &error))
    }

    /// Writes the token of a handle, or null; gives the token back.
    fn write_handle(
        &mut self,
        source: HandleSource,
        pointer: *mut c_void,
        size: Option<usize>,
        kind: &Arc<str>,
        parent: Option<ParentHandle>,
        out: &mut Vec<u8>,
    ) -> String {
        if pointer.is_null() {
            out.extend_from_slice(b"null");
            return String::new();
        }
        let close = parent.and_then(|parent| parent.close).and_then(|index| self.callable.helpers.get(index).copied());
        let parent = parent.map(|parent| self.frame.slots()[parent.parameter].block.as_bytes());
        let token = self.handles.token(NewHandle { pointer, kind, size, parent, close });
        push_json_string(&token, out);
        if !self.function.retained.is_empty() {
            self.made.push((source, token.clone()));
        }
        token
    }

    fn write_record(&self, record: Option<Arc<Record>>, out: &mut Vec<u8>) -> Result<(), ToolError> {
        let recorded = record.map_or_else(|| Ok(Vec::new()), |record| record.take());
        let recorded = recorded.map_err(|fault| self.invalid(fault))?;
        out.push(b'[');
        out.extend_from_slice(&recorded);
        out.push(b']');
        Ok(())
    }

    /// Whether another result has a value that is asked for.
    fn holds(&self, condition: &Condition) -> bool {
        let code = match condition.parameter {
            None => self.returned_integer(),
            Some(index) => match &self.function.parameters[index].passing {
                Passing::Field(field) => field_access::integer(field, self.frame),
                passing => passing.reported_integer().map(|value| value.machine.load(self.frame.slots()[index].word)),
            },
        };
        code.and_then(Loaded::code).is_some_and(|code| condition.is_one_of.contains(&code))
    }

    /// How much of a buffer counts, where the document names what says it.
    fn length(&self, buffer: &Buffer, name: &str, capacity: usize) -> Result<Option<usize>, ToolError> {
        buffer.length.map(|length| self.counted(length, name, capacity)).transpose()
    }

    /// What a counter says of a value; at most `most`.
    fn counted(&self, length: Length, name: &str, most: usize) -> Result<usize, ToolError> {
        let said = match length {
            Length::Within(size) => return Ok(size.min(most)),
            Length::Return => self.returned_integer(),
            Length::Parameter(index) => {
                let counter = self.function.parameters[index].passing.counter();
                counter.map(|value| value.machine.load(self.frame.slots()[index].word))
            }
        };
        said.and_then(Loaded::count).filter(|count| *count <= most).ok_or_else(|| {
            let said = said.and_then(Loaded::code).unwrap_or_default();
            let function = &self.function.name;
            ToolError::invalid_result(format!(
                "`{function}` says that `{name}` has {said} elements: 0 to {most} are possible"
            ))
        })
    }

    #[cold]
    fn invalid(&self, what: impl std::fmt::Display) -> ToolError {
        ToolError::invalid_result(format!("`{}`: {what}", self.function.name))
    }

    #[cold]
    fn unwritable(&self, name: &str, error: &MemoryError) -> ToolError {
        self.invalid(format_args!("`{name}` {error}"))
    }

    #[cold]
    fn unterminated(&self, name: &str, capacity: usize) -> ToolError {
        let function = &self.function.name;
        let help = "a larger `x-size` may help, or `x-lengthParam` if the text is counted";
        ToolError::invalid_result(format!(
            "`{function}` left `{name}` without a NUL within its {capacity} bytes: {help}"
        ))
    }
}

impl Outcome {
    /// The error that a code is, with everything else that the call gave.
    #[cold]
    pub(super) fn failed(
        &self,
        function: &Function,
        codes: &IndexMap<i128, String>,
        code: i128,
        result: &[u8],
    ) -> ToolError {
        let text = codes.get(&code);
        let mut message = format!("`{}` returned {code}", function.name);
        if let Some(text) = text {
            message.push_str(": ");
            message.push_str(text);
        }
        let mut data =
            json!({ "code": serde_json::from_str::<serde_json::Value>(&code.to_string()).unwrap_or_default() });
        if let Some(text) = text {
            data["text"] = text.as_str().into();
        }
        if function.errno {
            message.push_str(&format!(" ({})", std::io::Error::from_raw_os_error(self.errno)));
        }
        if let Ok(result) = serde_json::from_slice::<serde_json::Value>(result) {
            data["result"] = result;
        }
        let error = ToolError::failed(message).with_data(data);
        match i32::try_from(code) {
            Ok(code) => error.with_code(code),
            Err(_) => error,
        }
    }
}
