//! Functions that a library may call, and that record what they are called with: [`Closure`].

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libffi::low::{self, CodePtr, ffi_abi_FFI_DEFAULT_ABI, ffi_cif, ffi_closure, ffi_type, types};

use crate::encoding::{Encoding, push_json_string};
use crate::machine_type::type_of_machine;
use crate::memory::{MemoryError, Options, pointer_in, push_text_at, push_value, word_of};
use crate::plan::{Callback, CallbackAnswer, CallbackKind, Loaded, Value};

/// How many bytes are recorded at the most.
const LARGEST_RECORD: usize = 4 << 20;
/// How many texts one call may have.
const MOST_TEXTS: usize = 4096;

/// What callbacks were called with, in the order of their calls.
#[derive(Debug, Default)]
pub(crate) struct Record {
    state: Mutex<RecordState>,
}

#[derive(Debug, Default)]
struct RecordState {
    /// Objects, with commas between them.
    json: Vec<u8>,
    count: usize,
    /// Why something is missing.
    fault: Option<String>,
}

impl Record {
    /// Takes what was recorded: the objects with commas between them.
    ///
    /// # Errors
    ///
    /// Where something is missing: why.
    pub(crate) fn take(&self) -> Result<Vec<u8>, String> {
        let state = std::mem::take(&mut *self.state());
        match state.fault {
            Some(fault) => Err(fault),
            None => Ok(state.json),
        }
    }

    fn state(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A function in memory that a library may call. It is never freed: a library may keep its address and call it at any time,
/// and then it does nothing.
#[derive(Debug)]
pub(crate) struct Closure {
    code: CodePtr,
    callback: Arc<Callback>,
    options: Options,
    /// Where calls are recorded; nowhere while no call waits for them.
    record: Mutex<Option<Arc<Record>>>,
    pool: &'static ClosurePool,
}

// SAFETY: the code pointer is the address of memory that lives for ever and that nothing writes to.
unsafe impl Send for Closure {}
// SAFETY: as above; what changes is behind a mutex.
unsafe impl Sync for Closure {}

/// The closures of one parameter that no call uses. Calls that run at the same time have one each.
#[derive(Debug)]
pub(crate) struct ClosurePool {
    callback: Arc<Callback>,
    options: Options,
    cif: ffi_cif,
    free: Mutex<Vec<&'static Closure>>,
}

// SAFETY: the description is only read after it is prepared, and what it points to lives for ever.
unsafe impl Send for ClosurePool {}
// SAFETY: as above.
unsafe impl Sync for ClosurePool {}

impl ClosurePool {
    /// A pool for a callback, with one closure in it. It lives for ever, as its closures must.
    ///
    /// # Errors
    ///
    /// Where libffi cannot make such a function.
    pub(crate) fn new(callback: &Arc<Callback>, options: Options) -> Result<&'static ClosurePool, String> {
        let arguments: Vec<*mut ffi_type> = callback
            .arguments
            .iter()
            .map(|argument| match &argument.kind {
                CallbackKind::Scalar(value) => type_of_machine(value.machine),
                _ => &raw mut types::pointer,
            })
            .collect();
        let returned = match callback.answer {
            CallbackAnswer::Nothing => &raw mut types::void,
            CallbackAnswer::Scalar(value, _) => type_of_machine(value.machine),
            CallbackAnswer::Null => &raw mut types::pointer,
        };
        let arguments: &'static mut [*mut ffi_type] = arguments.leak();
        let mut cif = ffi_cif::default();
        // SAFETY: the types live for ever, and there are as many as is said.
        let prepared = unsafe {
            low::prep_cif(&mut cif, ffi_abi_FFI_DEFAULT_ABI, arguments.len(), returned, arguments.as_mut_ptr())
        };
        prepared.map_err(|error| format!("libffi cannot make the callback: {error:?}"))?;
        let pool: &'static ClosurePool =
            Box::leak(Box::new(ClosurePool { callback: callback.clone(), options, cif, free: Mutex::default() }));
        pool.closure()?.release();
        Ok(pool)
    }

    /// A closure that records what it is called with from now on.
    ///
    /// # Errors
    ///
    /// Where there is no memory for another one.
    pub(crate) fn start(&'static self, record: Arc<Record>) -> Result<&'static Closure, String> {
        let closure = self.closure()?;
        *closure.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
        Ok(closure)
    }

    fn closure(&'static self) -> Result<&'static Closure, String> {
        if let Some(closure) = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(closure);
        }
        let no_memory = || "there is no memory for a callback".to_owned();
        let (made, code) = low::try_closure_alloc().ok_or_else(no_memory)?;
        let closure: &'static Closure = Box::leak(Box::new(Closure {
            code,
            callback: self.callback.clone(),
            options: self.options,
            record: Mutex::default(),
            pool: self,
        }));
        prepare(made, &self.cif, code, closure)
            .map_err(|error| format!("libffi cannot make the callback: {error:?}"))?;
        Ok(closure)
    }
}

/// Makes the memory of a closure a function that records for `closure`.
fn prepare(made: *mut ffi_closure, cif: &'static ffi_cif, code: CodePtr, closure: &'static Closure) -> low::Result<()> {
    // SAFETY: `made` and `code` are what libffi has just allocated together; description and closure live for ever, and
    // libffi only reads a description that is prepared.
    unsafe { low::prep_closure(made, ptr::from_ref(cif).cast_mut(), record_call, closure, code) }
}

/// Makes one closure and drops it, so that libffi opens what it needs for closures before a sandbox forbids it.
pub(crate) fn warm_up() {
    if let Some((made, _)) = low::try_closure_alloc() {
        // SAFETY: libffi has just allocated it, and nothing else knows it.
        unsafe { low::closure_free(made) };
    }
}

impl Closure {
    /// The address that a library calls.
    pub(crate) fn code(&self) -> *mut c_void {
        self.code.as_mut_ptr()
    }

    /// Stops recording, and lets another call use the closure.
    pub(crate) fn release(&'static self) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// Records a call.
    ///
    /// # Safety
    ///
    /// `arguments` points to as many addresses as the callback has parameters, each of a value of its type, and pointers among
    /// those values point to what the document says.
    unsafe fn record(&self, arguments: *const *const c_void) {
        let Some(record) = self.record.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
        let mut state = record.state();
        if state.fault.is_some() {
            return;
        }
        let name = &self.callback.name;
        if state.count >= self.callback.most {
            let most = self.callback.most;
            state.fault =
                Some(format!("`{name}` was called more than {most} times: `max` of `x-callback` may be larger"));
            return;
        }
        let before = state.json.len();
        if before > 0 {
            state.json.push(b',');
        }
        // SAFETY: as the caller promises.
        let written = unsafe { self.write(arguments, &mut state.json) };
        match written {
            Ok(()) if state.json.len() <= LARGEST_RECORD => state.count += 1,
            Ok(()) => {
                state.fault = Some(format!("what `{name}` was called with has more than {LARGEST_RECORD} bytes"));
            }
            Err(fault) => state.fault = Some(format!("what `{name}` was called with {fault}")),
        }
        if state.fault.is_some() {
            state.json.truncate(before);
        }
    }

    /// Appends what a call was made with, as an object.
    ///
    /// # Safety
    ///
    /// As [`record`](Self::record).
    unsafe fn write(&self, arguments: *const *const c_void, out: &mut Vec<u8>) -> Result<(), MemoryError> {
        out.push(b'{');
        if self.callback.kept {
            out.extend_from_slice(b"\"callback\":");
            push_json_string(&self.callback.name, out);
        }
        for (index, argument) in self.callback.arguments.iter().enumerate() {
            let Some(key) = &argument.key else { continue };
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            out.extend_from_slice(key);
            // SAFETY: as the caller promises.
            let scalar = |index: usize, value: Value| unsafe { scalar_at(arguments, index, value) };
            let count = |index: usize| match self.callback.arguments[index].kind {
                CallbackKind::Scalar(value) => value.machine.load(scalar(index, value)).count().unwrap_or(0),
                _ => 0,
            };
            // SAFETY: as the caller promises, a pointer is at this index wherever it is read below.
            let pointer = || unsafe { *(*arguments.add(index)).cast::<*const u8>() };
            match &argument.kind {
                CallbackKind::Scalar(value) => push_value(*value, scalar(index, *value), self.options, out),
                CallbackKind::Element(value) => {
                    let element = pointer();
                    if element.is_null() {
                        out.extend_from_slice(b"null");
                    } else {
                        // SAFETY: the document says that it points to one value of the type.
                        let bytes = unsafe { std::slice::from_raw_parts(element, value.machine.size()) };
                        push_value(*value, word_of(bytes), self.options, out);
                    }
                }
                CallbackKind::Text { encoding, count: counter } => {
                    // SAFETY: the document says that it points to text which ends with a NUL, or is counted.
                    unsafe { push_text_at(pointer(), counter.map(count), *encoding, out)? };
                }
                CallbackKind::Texts { encoding, count: counter } => {
                    // SAFETY: the document says that it points to so many pointers to text, or to some and a null pointer.
                    unsafe { push_texts(pointer(), counter.map(count), *encoding, out)? };
                }
                CallbackKind::Opaque => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// Appends a list of texts: so many, or up to a null pointer.
///
/// # Safety
///
/// The pointer is null, or points to so many pointers, or to some and a null pointer; each is null or points to text that ends
/// with a NUL.
unsafe fn push_texts(
    texts: *const u8,
    count: Option<usize>,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), MemoryError> {
    if texts.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    out.push(b'[');
    for index in 0..count.unwrap_or(usize::MAX) {
        if index >= MOST_TEXTS {
            return Err(MemoryError::TooLong);
        }
        // SAFETY: as the caller promises: there are so many, or no null pointer came before this one.
        let text = unsafe {
            let at = texts.add(index * size_of::<usize>());
            pointer_in(std::slice::from_raw_parts(at, size_of::<usize>()))
        };
        if text.is_null() && count.is_none() {
            break;
        }
        if index > 0 {
            out.push(b',');
        }
        // SAFETY: as the caller promises.
        unsafe { push_text_at(text, None, encoding, out)? };
    }
    out.push(b']');
    Ok(())
}

/// A scalar among the arguments of a callback, as a word that begins with it.
///
/// # Safety
///
/// `arguments` has an address at `index` of a value of this type.
unsafe fn scalar_at(arguments: *const *const c_void, index: usize, value: Value) -> u64 {
    // SAFETY: as the caller promises.
    word_of(unsafe { std::slice::from_raw_parts((*arguments.add(index)).cast::<u8>(), value.machine.size()) })
}

/// What libffi calls for every closure.
unsafe extern "C" fn record_call(_: &ffi_cif, result: &mut u64, arguments: *const *const c_void, closure: &Closure) {
    // SAFETY: libffi gives the arguments that the description asks for; that pointers point to what the document says is the
    // promise of the caller that joined document and library.
    unsafe { closure.record(arguments) };
    match closure.callback.answer {
        CallbackAnswer::Nothing => {}
        // libffi takes integers as whole words, by their value.
        CallbackAnswer::Scalar(value, word) => {
            *result = match value.machine.load(word) {
                Loaded::Signed(integer) => integer.cast_unsigned(),
                Loaded::Unsigned(integer) => integer,
                Loaded::Bool(flag) => u64::from(flag),
                Loaded::Float(_) | Loaded::Double(_) => 0,
            };
        }
        CallbackAnswer::Null => *result = 0,
    }
}
