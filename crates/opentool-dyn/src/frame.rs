//! The memory of one call: [`Frame`], kept by its thread from call to call, so that a call allocates nothing
//! (`cargo bench -p opentool-dyn --bench calls`).

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::closure::{Closure, Record};
use crate::guarded_pages::GuardedPages;
use crate::memory::pointer_in;

/// The arguments of a call, and the memory that they point to.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// One for each parameter, and perhaps more from an earlier call.
    slots: Vec<Slot>,
    /// What libffi is given: where each value is.
    values: Vec<*mut c_void>,
    /// Buffers of earlier calls.
    spare: Vec<GuardedPages>,
}

/// What one parameter passes.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The value, or the cell that the pointer points to.
    pub(crate) word: u64,
    /// Where the parameter is a pointer, the pointer.
    pub(crate) pointer: *mut c_void,
    /// How many elements a buffer has.
    pub(crate) count: usize,
    pub(crate) state: ArgumentState,
    /// What the pointer points to, where that is more than a cell.
    pub(crate) block: Block,
    pub(crate) pages: Option<GuardedPages>,
    /// The texts that fields of a struct point to.
    pub(crate) texts: Vec<Box<[u8]>>,
    /// The function that the library may call.
    pub(crate) closure: Option<&'static Closure>,
    /// What that function records.
    pub(crate) record: Option<Arc<Record>>,
}

/// What the caller gave for a parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ArgumentState {
    /// Nothing.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// A value.
    Value,
    /// Nothing, and it follows from another parameter.
    Derived,
}

/// Where libffi finds the value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the word.
    Word,
    /// It is the pointer.
    Pointer,
    /// It is the block.
    Block,
}

/// Bytes, aligned for every scalar.
#[derive(Debug, Default)]
pub(crate) struct Block {
    words: Vec<u64>,
    /// How many bytes of the words are in use.
    length: usize,
}

/// How many bytes a thread keeps for later calls, in each block.
const KEPT: usize = 1 << 20;
/// How many buffers a thread keeps for later calls.
const SPARE: usize = 8;

impl Default for Slot {
    fn default() -> Self {
        Slot {
            word: 0,
            pointer: ptr::null_mut(),
            count: 0,
            state: ArgumentState::Absent,
            block: Block::default(),
            pages: None,
            texts: Vec::new(),
            closure: None,
            record: None,
        }
    }
}

thread_local! {
    static FRAME: Cell<Option<Box<Frame>>> = const { Cell::new(None) };
}

impl Frame {
    /// Runs code with this thread's frame, ready for a function of so many parameters.
    #[inline]
    pub(crate) fn with<R>(parameters: usize, code: impl FnOnce(&mut Frame) -> R) -> R {
        // Taken, not borrowed: code within code gets a frame of its own.
        let mut frame = FRAME.take().unwrap_or_default();
        if frame.slots.len() < parameters {
            frame.slots.resize_with(parameters, Slot::default);
        }
        for slot in &mut frame.slots[..parameters] {
            slot.word = 0;
            slot.state = ArgumentState::Absent;
        }
        let result = code(&mut frame);
        FRAME.set(Some(frame));
        result
    }

    #[inline]
    pub(crate) fn slot(&mut self, index: usize) -> &mut Slot {
        &mut self.slots[index]
    }

    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A buffer of so many bytes, all zero, that ends at a guard page; kept in the slot.
    pub(crate) fn buffer(&mut self, index: usize, bytes: usize) -> Result<*mut c_void, std::io::Error> {
        let fits = self.spare.iter().position(|pages| pages.size() >= bytes);
        let mut pages = match fits {
            Some(spare) => self.spare.swap_remove(spare),
            None => GuardedPages::new(bytes)?,
        };
        let start = pages.clear(bytes);
        self.slots[index].pages = Some(pages);
        Ok(start.cast())
    }

    /// Points to every value: to the word itself or, where `is_pointer` says so, to the pointer.
    #[inline]
    pub(crate) fn values(&mut self, parameters: usize, is_pointer: impl Fn(usize) -> bool) -> *mut *mut c_void {
        self.values.clear();
        // `extend` reserves once (the benchmark `calls` of this crate).
        self.values.extend(self.slots.iter_mut().take(parameters).enumerate().map(|(index, slot)| {
            if is_pointer(index) { (&raw mut slot.pointer).cast() } else { (&raw mut slot.word).cast::<c_void>() }
        }));
        self.values.as_mut_ptr()
    }

    /// The same for these parameters only, of which some are structs by value.
    pub(crate) fn values_of(&mut self, arguments: &[usize], place: impl Fn(usize) -> Place) -> *mut *mut c_void {
        self.values.clear();
        for index in arguments {
            let slot = &mut self.slots[*index];
            let value = match place(*index) {
                Place::Word => (&raw mut slot.word).cast(),
                Place::Pointer => (&raw mut slot.pointer).cast(),
                Place::Block => slot.block.as_mut_ptr(),
            };
            self.values.push(value);
        }
        self.values.as_mut_ptr()
    }

    /// Releases what a call of so many parameters needed.
    #[inline]
    pub(crate) fn clear(&mut self, parameters: usize) {
        for slot in &mut self.slots[..parameters] {
            slot.pointer = ptr::null_mut();
            if slot.block.words.capacity() != 0 {
                slot.block.clear();
            }
            if !slot.texts.is_empty() {
                slot.texts = Vec::new();
            }
            if let Some(closure) = slot.closure.take() {
                closure.release();
            }
            slot.record = None;
            if let Some(pages) = slot.pages.take()
                && self.spare.len() < SPARE
                && pages.size() <= KEPT
            {
                self.spare.push(pages);
            }
        }
    }
}

impl Slot {
    /// The pointer that the library has put into the cell.
    pub(crate) fn cell_pointer(&self) -> *mut c_void {
        pointer_in(&self.word.to_ne_bytes()).cast_mut().cast()
    }

    /// Puts a pointer into the cell.
    pub(crate) fn set_cell_pointer(&mut self, pointer: *mut c_void) {
        let mut cell = self.word.to_ne_bytes();
        for (to, from) in cell.iter_mut().zip(pointer.expose_provenance().to_ne_bytes()) {
            *to = from;
        }
        self.word = u64::from_ne_bytes(cell);
    }
}

impl Block {
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        if self.words.capacity() * 8 > KEPT {
            self.words = Vec::new();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn reserve(&mut self, bytes: usize) {
        let needed = (self.length + bytes).div_ceil(8);
        if needed > self.words.len() {
            self.words.resize(needed.max(2 * self.words.len()), 0);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        let start = self.length;
        self.length += bytes.len();
        self.all()[start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised, `length` never exceeds them, and every byte pattern is a byte.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }

    /// Makes it so many bytes, all zero.
    pub(crate) fn extend_zeroed(&mut self, bytes: usize) -> &mut [u8] {
        self.reserve(bytes);
        let start = self.length;
        self.length += bytes;
        let added = &mut self.all()[start..start + bytes];
        added.fill(0);
        added
    }

    /// Writes over bytes that are in use, as far as they are.
    pub(crate) fn overwrite(&mut self, start: usize, bytes: &[u8]) {
        let end = (start + bytes.len()).min(self.length);
        if let Some(to) = self.all().get_mut(start..end) {
            to.copy_from_slice(&bytes[..to.len()]);
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    fn all(&mut self) -> &mut [u8] {
        let bytes = self.words.len() * 8;
        // SAFETY: the words are initialised and borrowed for as long as the bytes are; every byte pattern is a word.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), bytes) }
    }
}
