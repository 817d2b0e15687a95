//! One call: from arguments that are read to a result that is written.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use indexmap::IndexMap;
use opentool_core::{ArgumentError, ToolError};
use opentool_spec::json::pointer;

use super::callable::{Callable, Entry};
use super::errno;
use super::field_access;
use super::finished::{FinishedCall, Outcome};
use super::handles::{HandleUse, Handles};
use super::notes::Notes;
use super::prepared::{Prepared, Register};
use super::retained::RetainedMemory;
use crate::closure::Record;
use crate::frame::{ArgumentState, Frame, Place};
use crate::guarded_pages::GuardedPages;
use crate::memory::{Options, push_value};
use crate::plan::{Function, Global, HandleSource, Passing, RetainedArgument, Returned};

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

impl Call<'_> {
    /// Calls the function with the arguments that are in the frame.
    #[inline]
    pub(crate) fn run(self, frame: &mut Frame, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        match &self.callable.entry {
            Entry::Function(prepared) if !prepared.has_pointers => self.run_plain(prepared, frame, out),
            Entry::Function(prepared) => self.run_with_pointers(prepared, frame, out),
            Entry::Variable(address) => self.read_variable(address.0, frame, out),
        }
    }

    /// Calls a function that takes only scalars.
    #[inline]
    fn run_plain(self, prepared: &Prepared, frame: &mut Frame, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let Call { function, callable, .. } = self;
        let values = frame.values(function.parameters.len(), |_| false);
        errno::reset();
        // SAFETY: there is one value for each parameter, of the type that `Prepared::new` gave to libffi for the same plan:
        // a word that begins with the scalar.
        let register = unsafe { prepared.call(values) };
        let errno = errno::keep();
        if callable.is_plain
            && let Some(returns) = &function.returns
            && let Returned::Value(value) = &returns.kind
        {
            out.extend_from_slice(&returns.opening);
            push_value(*value, register.word(value.machine), self.options, out);
            out.push(b'}');
            return Ok(Notes::default());
        }
        self.finish(frame, Outcome { register, returned: Vec::new(), errno }, out)
    }

    fn run_with_pointers(self, prepared: &Prepared, frame: &mut Frame, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let Call { function, .. } = self;
        self.set_pointers(frame)?;
        if function.has_fields
            && let Err(error) = field_access::write(function, frame)
        {
            self.release_handles(frame, function.parameters.len(), false);
            return Err(error);
        }
        if function.closes_handles {
            self.close_children(frame);
        }
        let parameters = &function.parameters;
        let values = match &function.arguments {
            None => frame.values(parameters.len(), |index| !matches!(parameters[index].passing, Passing::Value(_))),
            Some(arguments) => frame.values_of(arguments, |index| match parameters[index].passing {
                Passing::Value(_) => Place::Word,
                Passing::StructValue { .. } => Place::Block,
                _ => Place::Pointer,
            }),
        };
        errno::reset();
        // SAFETY: there is one value for each parameter that is an argument, of the type that `Prepared::new` gave to libffi for
        // the same plan: a word that begins with the scalar, a block with the bytes of a struct, or a pointer. Pointers are
        // null or point to a cell, a block or a buffer of the frame, which stay where they are until the frame is used
        // again, to a closure, which lives for ever, or are the library's own.
        let (register, returned) = unsafe {
            match function.returns.as_ref().map(|returns| &returns.kind) {
                Some(Returned::Struct(layout)) => (Register::default(), prepared.call_for_struct(values, layout.size)),
                _ => (prepared.call(values), Vec::new()),
            }
        };
        let errno = errno::keep();
        self.finish(frame, Outcome { register, returned, errno }, out)
    }

    fn read_variable(self, address: *mut c_void, frame: &mut Frame, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let size = match (self.function.global, self.function.returns.as_ref().map(|returns| &returns.kind)) {
            (Some(Global::InPlace), _) | (_, None) => 0,
            (_, Some(Returned::Value(value))) => value.machine.size(),
            _ => size_of::<usize>(),
        };
        let register = match size {
            0 => Register::from_pointer(address),
            // SAFETY: the address of a variable of the library, which the document says is so large.
            size => Register::from_memory(unsafe { std::slice::from_raw_parts(address.cast(), size) }),
        };
        self.finish(frame, Outcome { register, returned: Vec::new(), errno: 0 }, out)
    }

    /// Ends what the call has ended, keeps what must be kept, and writes the result.
    fn finish(self, frame: &mut Frame, outcome: Outcome, out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let Call { function, callable, .. } = self;
        let register = outcome.register;
        let (handles, options) = (self.handles, self.options);
        let mut finished = FinishedCall { function, callable, handles, options, frame, outcome, made: Vec::new() };
        let failure = finished.failing_code();
        let written = finished.write(failure.is_none(), out);
        let FinishedCall { made, outcome, .. } = finished;
        if function.has_fields {
            field_access::reset(function, frame);
        }
        for retained in &function.retained {
            self.retain(frame, *retained, &made);
        }
        self.release_handles(frame, function.parameters.len(), failure.is_none());
        if let Some(free) = function.free.and_then(|index| callable.helpers.get(index))
            && !register.pointer().is_null()
        {
            // SAFETY: the document says that this function frees what the other has returned; nothing points to it any
            // more, since the result has copies.
            unsafe { free(register.pointer()) };
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            if let Passing::Indirect { free: Some(free), .. } = &parameter.passing
                && let Some(free) = callable.helpers.get(*free)
                && let pointer = frame.slots()[index].cell_pointer()
                && !pointer.is_null()
            {
                // SAFETY: as above, of what the function has set the pointer to.
                unsafe { free(pointer) };
            }
        }
        match failure {
            None => written.map(|()| Notes::default()),
            // A function that failed may leave anything in its out parameters: the code says more than their errors.
            Some(code) => {
                if written.is_err() {
                    out.clear();
                }
                Err(outcome.failed(function, self.codes, code, out))
            }
        }
    }

    /// Makes every pointer point to what the arguments say.
    fn set_pointers(self, frame: &mut Frame) -> Result<(), ToolError> {
        for (index, parameter) in self.function.parameters.iter().enumerate() {
            let slot = frame.slot(index);
            let is_given = matches!(slot.state, ArgumentState::Value | ArgumentState::Derived);
            let pointer = match &parameter.passing {
                Passing::Value(_) | Passing::StructValue { .. } => continue,
                Passing::Cell { out, .. } if is_given || *out => (&raw mut slot.word).cast(),
                Passing::HandleOut { .. } | Passing::Indirect { .. } => (&raw mut slot.word).cast(),
                Passing::Text { .. } | Passing::Array { .. } if is_given => slot.block.as_mut_ptr(),
                Passing::Handle { kind, closes, indirect } if is_given => {
                    let handle_use = match closes {
                        true => HandleUse::Closes,
                        false if self.function.has_fields && self.function.has_fields_of(index) => HandleUse::Exclusive,
                        false => HandleUse::Shared,
                    };
                    match self.handles.object(slot.block.as_bytes(), kind, handle_use) {
                        Ok(object) => {
                            slot.count = object.size.unwrap_or(usize::MAX);
                            if *indirect {
                                slot.set_cell_pointer(object.pointer);
                                (&raw mut slot.word).cast()
                            } else {
                                object.pointer
                            }
                        }
                        Err(message) => {
                            // What was about to be closed before this one stays open.
                            self.release_handles(frame, index, false);
                            return Err(ArgumentError::new(pointer::to_member(&parameter.name), message).into());
                        }
                    }
                }
                Passing::Struct { layout, goes_in: true, .. } if is_given => {
                    let pointer = self.buffer(frame, index, layout.size)?;
                    let slot = frame.slot(index);
                    match &mut slot.pages {
                        Some(pages) => pages.fill(slot.block.as_bytes()).cast(),
                        None => pointer,
                    }
                }
                Passing::Struct { layout, goes_in: false, .. } => self.buffer(frame, index, layout.size)?,
                // Nothing to end: the address of a null pointer.
                Passing::Handle { indirect: true, .. } => (&raw mut slot.word).cast(),
                Passing::Cell { .. }
                | Passing::Text { .. }
                | Passing::Array { .. }
                | Passing::Handle { .. }
                | Passing::Struct { .. }
                | Passing::UserData
                | Passing::Events { .. } => ptr::null_mut(),
                Passing::TextOut { .. } | Passing::ArrayOut { .. } => {
                    let bytes = parameter.passing.buffer().map_or(0, |(_, element)| slot.count * element);
                    self.buffer(frame, index, bytes)?
                }
                Passing::Field(_) => match parameter.passing.buffer() {
                    Some(_) => {
                        let bytes = slot.count;
                        self.buffer(frame, index, bytes)?
                    }
                    None if is_given => slot.block.as_mut_ptr(),
                    None => ptr::null_mut(),
                },
                Passing::Allocated { size, .. } => self.allocate(frame, index, *size)?,
                Passing::Callback(_) => self.start_closure(frame, index)?,
            };
            frame.slot(index).pointer = pointer;
        }
        Ok(())
    }

    fn buffer(self, frame: &mut Frame, index: usize, bytes: usize) -> Result<*mut c_void, ToolError> {
        frame.buffer(index, bytes).map_err(|error| self.no_memory(frame, index, bytes, &error))
    }

    /// Memory of its own, which may outlive the call.
    fn allocate(self, frame: &mut Frame, index: usize, bytes: usize) -> Result<*mut c_void, ToolError> {
        // A struct has the alignment of the largest type, and ends at the guard page.
        let mut pages = GuardedPages::new(bytes.next_multiple_of(16))
            .map_err(|error| self.no_memory(frame, index, bytes, &error))?;
        let start = pages.clear(bytes.next_multiple_of(16));
        let slot = frame.slot(index);
        slot.pages = Some(pages);
        slot.count = bytes;
        Ok(start.cast())
    }

    #[cold]
    fn no_memory(self, frame: &Frame, index: usize, bytes: usize, error: &std::io::Error) -> ToolError {
        self.release_handles(frame, index, false);
        let (name, parameter) = (&self.function.name, &self.function.parameters[index].name);
        ToolError::failed(format!("`{name}`: no {bytes} bytes for `{parameter}`: {error}"))
    }

    /// A function that records its calls: for this call, or for the handle that it is kept for.
    fn start_closure(self, frame: &mut Frame, index: usize) -> Result<*mut c_void, ToolError> {
        let retained = self.function.retained.iter().find(|retained| retained.parameter == index);
        let record = match retained.map(|retained| retained.handle) {
            Some(HandleSource::Parameter(handle)) => self.handles.record(frame.slots()[handle].block.as_bytes()),
            _ => None,
        };
        let record = record.unwrap_or_else(|| Arc::new(Record::default()));
        let pool = self.callable.callbacks.get(index).copied().flatten();
        let started = match pool {
            Some(pool) => pool.start(record.clone()),
            None => Err("there is no callback".to_owned()),
        };
        match started {
            Ok(closure) => {
                let slot = frame.slot(index);
                slot.closure = Some(closure);
                slot.record = Some(record);
                Ok(closure.code())
            }
            Err(reason) => {
                self.release_handles(frame, index, false);
                Err(ToolError::failed(format!("`{}`: {reason}", self.function.name)))
            }
        }
    }

    /// Ends the handles that must be ended before those that the call ends.
    fn close_children(self, frame: &Frame) {
        for (parameter, slot) in self.function.parameters.iter().zip(frame.slots()) {
            if matches!(parameter.passing, Passing::Handle { closes: true, .. }) && slot.state == ArgumentState::Value {
                for (close, pointer) in self.handles.take_children(slot.block.as_bytes()) {
                    // SAFETY: the document says that this function ends such an object; its handle is gone, so that nothing
                    // uses it any more.
                    unsafe { close(pointer) };
                }
            }
        }
    }

    /// Retains the memory of a parameter for a handle.
    fn retain(self, frame: &mut Frame, retained: RetainedArgument, made: &[(HandleSource, String)]) {
        let RetainedArgument { parameter, handle } = retained;
        let of_parameter = match handle {
            HandleSource::Parameter(index) => {
                let slot = &frame.slots()[index];
                let is_handle = matches!(self.function.parameters[index].passing, Passing::Handle { .. });
                (is_handle && slot.state == ArgumentState::Value).then(|| slot.block.as_bytes().to_vec())
            }
            HandleSource::Return => None,
        };
        let token = of_parameter
            .or_else(|| made.iter().find(|(other, _)| *other == handle).map(|(_, token)| token.clone().into_bytes()));
        let slot = frame.slot(parameter);
        let is_given = slot.state == ArgumentState::Value || slot.closure.is_some();
        if let Some(token) = token.filter(|_| is_given) {
            self.handles.retain(&token, RetainedMemory::take(slot));
        }
    }

    /// Ends the handles that the call has closed, among the first parameters, or leaves them open; releases the others.
    fn release_handles(self, frame: &Frame, parameters: usize, closed: bool) {
        for (parameter, slot) in self.function.parameters[..parameters].iter().zip(frame.slots()) {
            match parameter.passing {
                Passing::Handle { closes, .. } if slot.state == ArgumentState::Value => match closes {
                    true => self.handles.close(slot.block.as_bytes(), closed),
                    false => self.handles.release(slot.block.as_bytes()),
                },
                _ => {}
            }
        }
    }
}
