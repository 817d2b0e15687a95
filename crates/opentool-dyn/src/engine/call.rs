//! One call: from arguments that are read to a result that is written.

use opentool_spec::json::pointer;
use std::ffi::{c_char, c_void};
use std::ptr;

use indexmap::IndexMap;
use opentool_core::{ArgumentError, ToolError};
use serde_json::json;

use super::callable::Callable;
use super::errno;
use super::handles::Handles;
use super::notes::Notes;
use super::options::Options;
use super::prepared::Register;
use super::write::push_value;
use crate::encoding::{Encoding, push_json_string};
use crate::frame::{Frame, Given};
use crate::plan::{Buffer, Function, Length, Loaded, Parameter, Passing, Returned, Value};

/// The most bytes of a returned text that are part of the result.
const LONGEST_TEXT: usize = 1 << 20;

/// What a call of a function needs.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) function: &'a Function,
    pub(crate) callable: &'a Callable,
    /// What returned codes mean.
    pub(crate) codes: &'a IndexMap<i128, String>,
    pub(crate) handles: &'a Handles,
    pub(crate) options: Options,
}

/// A call that has returned.
struct FinishedCall<'a> {
    call: Call<'a>,
    function: &'a Function,
    frame: &'a Frame,
    register: Register,
    errno: i32,
    notes: Notes,
}

impl<'a> Call<'a> {
    /// Calls the function with the arguments that are in the frame.
    #[inline]
    pub(crate) fn run(self, frame: &mut Frame, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let Call { function, callable, .. } = self;
        if callable.prepared.has_pointers {
            self.set_pointers(frame)?;
        }
        let parameters = &function.parameters;
        let values = frame.values(parameters.len(), |index| !matches!(parameters[index].passing, Passing::Value(_)));
        errno::reset();
        // SAFETY: there is one value for each parameter, of the type that `Prepared::new` gave to libffi for the same plan:
        // a word that begins with the scalar, or a pointer. Pointers are null or point to a cell, a block or a buffer of
        // the frame, which stay where they are until the frame is used again, or are the library's own.
        let register = unsafe { callable.prepared.call(values) };
        let errno = errno::keep();
        if callable.is_plain
            && let Some(returns) = &function.returns
            && let Returned::Value(value) = &returns.kind
        {
            out.extend_from_slice(&returns.opening);
            push_value(*value, register.word(value.machine), self.options.big_integers_as_strings, out);
            out.push(b'}');
            return Ok(Notes::default());
        }
        let mut finished = FinishedCall { call: self, function, frame, register, errno, notes: Notes::default() };
        let failure = finished.failing_code();
        self.release_handles(finished.frame, parameters.len(), failure.is_none());
        let written = finished.write(out);
        if let Some(free) = callable.free
            && !register.pointer().is_null()
        {
            // SAFETY: the document says that this function frees what the other has returned; nothing points to it any
            // more, since the result has copies.
            unsafe { free(register.pointer()) };
        }
        match failure {
            None => written.map(|()| finished.notes),
            // A function that failed may leave anything in its out parameters: the code says more than their errors.
            Some(code) => {
                if written.is_err() {
                    out.clear();
                }
                Err(finished.failed(code, out))
            }
        }
    }

    /// Makes every pointer point to what the arguments say.
    fn set_pointers(self, frame: &mut Frame) -> Result<(), ToolError> {
        for (index, parameter) in self.function.parameters.iter().enumerate() {
            let slot = frame.slot(index);
            let is_given = matches!(slot.given, Given::Value | Given::Derived);
            let pointer = match &parameter.passing {
                Passing::Value(_) => continue,
                Passing::Cell { out, .. } if is_given || *out => (&raw mut slot.word).cast(),
                Passing::HandleOut { .. } => (&raw mut slot.word).cast(),
                Passing::Text { .. } | Passing::Array { .. } if is_given => slot.block.as_mut_ptr(),
                Passing::Handle { kind, closes } if is_given => {
                    match self.handles.pointer(slot.block.as_bytes(), kind, *closes) {
                        Ok(pointer) => pointer,
                        Err(message) => {
                            // What was about to be closed before this one stays open.
                            self.release_handles(frame, index, false);
                            return Err(ArgumentError::new(pointer::to_member(&parameter.name), message).into());
                        }
                    }
                }
                Passing::Cell { .. } | Passing::Text { .. } | Passing::Array { .. } | Passing::Handle { .. } => {
                    ptr::null_mut()
                }
                Passing::TextOut { .. } => self.buffer(frame, index, 1)?,
                Passing::ArrayOut { element, .. } => self.buffer(frame, index, element.machine.size())?,
            };
            frame.slot(index).pointer = pointer;
        }
        Ok(())
    }

    fn buffer(self, frame: &mut Frame, index: usize, element: usize) -> Result<*mut c_void, ToolError> {
        let bytes = frame.slot(index).count * element;
        frame.buffer(index, bytes).map_err(|error| {
            self.release_handles(frame, index, false);
            let (name, parameter) = (&self.function.name, &self.function.parameters[index].name);
            ToolError::failed(format!("`{name}`: no {bytes} bytes for `{parameter}`: {error}"))
        })
    }

    /// Ends the handles that the call has closed, among the first parameters, or leaves them open; releases the others.
    fn release_handles(self, frame: &Frame, parameters: usize, closed: bool) {
        for (parameter, slot) in self.function.parameters[..parameters].iter().zip(frame.slots()) {
            match parameter.passing {
                Passing::Handle { closes, .. } if slot.given == Given::Value => match closes {
                    true => self.handles.close(slot.block.as_bytes(), closed),
                    false => self.handles.release(slot.block.as_bytes()),
                },
                _ => {}
            }
        }
    }
}

impl FinishedCall<'_> {
    /// The code that says failure, where the function returns codes and this is one.
    fn failing_code(&self) -> Option<i128> {
        let success = self.function.success.as_ref()?;
        let code = self.returned_integer()?.code()?;
        (!success.includes(code)).then_some(code)
    }

    fn returned_integer(&self) -> Option<Loaded> {
        match &self.function.returns.as_ref()?.kind {
            Returned::Value(value) => Some(value.machine.load(self.register.word(value.machine))),
            _ => None,
        }
    }

    /// Writes the result object.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), ToolError> {
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
                self.write_out(index, parameter, out)?;
            }
        }
        if function.errno {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(b"\"errno\":");
            out.extend_from_slice(itoa::Buffer::new().format(self.errno).as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    fn write_out(&mut self, index: usize, parameter: &Parameter, out: &mut Vec<u8>) -> Result<(), ToolError> {
        let frame = self.frame;
        let slot = &frame.slots()[index];
        match &parameter.passing {
            Passing::Cell { value, .. } => self.write_value(*value, slot.word, out),
            Passing::HandleOut { kind } => {
                let address = usize::try_from(slot.word).unwrap_or_default();
                self.write_handle(ptr::with_exposed_provenance_mut(address), kind, out);
            }
            Passing::TextOut { buffer, encoding } => {
                let bytes = slot.pages.as_ref().map_or(&[][..], |pages| pages.tail(slot.count));
                let length = match self.length(buffer, &parameter.name, slot.count)? {
                    Some(length) => length,
                    None if !encoding.is_text() => slot.count,
                    None => memchr::memchr(0, bytes).ok_or_else(|| self.unterminated(&parameter.name, slot.count))?,
                };
                self.write_text(&bytes[..length], *encoding, out);
            }
            Passing::ArrayOut { element, buffer } => {
                let size = element.machine.size();
                let bytes = slot.pages.as_ref().map_or(&[][..], |pages| pages.tail(slot.count * size));
                let length = self.length(buffer, &parameter.name, slot.count)?.unwrap_or(slot.count);
                self.write_elements(*element, &bytes[..length * size], out);
            }
            Passing::Value(_) | Passing::Text { .. } | Passing::Array { .. } | Passing::Handle { .. } => {
                out.extend_from_slice(b"null");
            }
        }
        Ok(())
    }

    fn write_returned(&mut self, kind: &Returned, name: &str, out: &mut Vec<u8>) -> Result<(), ToolError> {
        let pointer = self.register.pointer();
        match kind {
            Returned::Value(value) => self.write_value(*value, self.register.word(value.machine), out),
            Returned::Handle { kind } => self.write_handle(pointer, kind, out),
            _ if pointer.is_null() => out.extend_from_slice(b"null"),
            Returned::Element(value) => {
                // SAFETY: the document says that this points to one value of the type; it cannot be checked here.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), value.machine.size()) };
                self.write_value(*value, word_of(bytes), out);
            }
            Returned::Text { encoding, length } => {
                let count = match length {
                    Some(length) => Some(self.counted(*length, name, usize::MAX)?),
                    None => None,
                };
                let most = count.unwrap_or(LONGEST_TEXT).min(LONGEST_TEXT);
                // SAFETY: the document says that this points to text which ends with a NUL or is as long as it says; no
                // more than that is read.
                let bytes = unsafe {
                    let length = if count.is_some() { most } else { string_length(pointer.cast(), most) };
                    std::slice::from_raw_parts(pointer.cast::<u8>(), length)
                };
                if bytes.len() == LONGEST_TEXT {
                    self.notes.add(Notes::CUT);
                }
                self.write_text(whole_characters(bytes, *encoding), *encoding, out);
            }
            Returned::Array { element, size, length } => {
                let count = match length {
                    Some(length) => self.counted(*length, name, *size)?,
                    None => *size,
                };
                // SAFETY: the document says that this points to so many elements.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), count * element.machine.size()) };
                self.write_elements(*element, bytes, out);
            }
        }
        Ok(())
    }

    fn write_value(&self, value: Value, word: u64, out: &mut Vec<u8>) {
        push_value(value, word, self.call.options.big_integers_as_strings, out);
    }

    fn write_handle(&self, pointer: *mut c_void, kind: &std::sync::Arc<str>, out: &mut Vec<u8>) {
        if pointer.is_null() {
            out.extend_from_slice(b"null");
        } else {
            push_json_string(&self.call.handles.token(pointer, kind), out);
        }
    }

    fn write_text(&mut self, bytes: &[u8], encoding: Encoding, out: &mut Vec<u8>) {
        if !encoding.encode(bytes, out) {
            self.notes.add(Notes::REPLACED);
        }
    }

    fn write_elements(&self, element: Value, bytes: &[u8], out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, bytes) in bytes.chunks_exact(element.machine.size()).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            self.write_value(element, word_of(bytes), out);
        }
        out.push(b']');
    }

    /// How much of a buffer counts, where the document names what says it.
    fn length(&self, buffer: &Buffer, name: &str, capacity: usize) -> Result<Option<usize>, ToolError> {
        buffer.length.map(|length| self.counted(length, name, capacity)).transpose()
    }

    /// What a counter says of a value; at most `most`.
    fn counted(&self, length: Length, name: &str, most: usize) -> Result<usize, ToolError> {
        let said = match length {
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
    fn unterminated(&self, name: &str, capacity: usize) -> ToolError {
        let function = &self.function.name;
        let help = "a larger `x-size` may help, or `x-lengthParam` if the text is counted";
        ToolError::invalid_result(format!(
            "`{function}` left `{name}` without a NUL within its {capacity} bytes: {help}"
        ))
    }

    /// The error that a code is, with everything else that the call gave.
    #[cold]
    fn failed(&self, code: i128, result: &[u8]) -> ToolError {
        let text = self.call.codes.get(&code);
        let mut message = format!("`{}` returned {code}", self.function.name);
        if let Some(text) = text {
            message.push_str(": ");
            message.push_str(text);
        }
        let mut data =
            json!({ "code": serde_json::from_str::<serde_json::Value>(&code.to_string()).unwrap_or_default() });
        if let Some(text) = text {
            data["text"] = text.as_str().into();
        }
        if self.function.errno {
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

/// A word that begins with these bytes, of which there are eight at most.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_ne_bytes(word)
}

/// The length of a text that ends with a NUL; `most` where it does not end before.
///
/// # Safety
///
/// All bytes up to the NUL, or up to `most`, can be read.
unsafe fn string_length(text: *const c_char, most: usize) -> usize {
    #[cfg(unix)]
    // SAFETY: as the caller promises.
    return unsafe { libc::strnlen(text, most) };
    #[cfg(not(unix))]
    // SAFETY: as the caller promises; every byte is looked at only after the one before it was no NUL.
    return (0..most).find(|at| unsafe { *text.add(*at) } == 0).unwrap_or(most);
}

/// A text that was cut, without the half of a character at its end.
fn whole_characters(bytes: &[u8], encoding: Encoding) -> &[u8] {
    if bytes.len() < LONGEST_TEXT || encoding != Encoding::Utf8 {
        return bytes;
    }
    match std::str::from_utf8(bytes) {
        // No error length: the text ends within a character.
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}
