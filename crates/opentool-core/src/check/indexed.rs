//! Arguments that were read once: known to be JSON, with an index of where their objects, arrays and long strings end.
//!
//! There is no tree. A value is a place in the text, and what is in it is read where it is asked for; the index lets a
//! reader step over a value at once, so that every pass takes time in proportion to the text. It takes at most 2.2 times
//! the memory of the text, however short and deep the values are, while a tree of short arrays would take a hundred times.

use std::cell::Cell;

use opentool_spec::json::{JsonError, JsonErrorKind, JsonString, Lexer, MAX_DEPTH, OpenNames};
use smallvec::SmallVec;

use super::memory::{CheckMemory, OutOfMemory};

/// How many bytes a string must have for its end to be in the index; a shorter one is read again as quickly.
const LONG_STRING: usize = 64;

/// Stands for an end that there is not.
const NO_END: u32 = u32::MAX;

/// How many ends are reserved in the budget at a time.
const STEP: usize = 1024;

/// How many steps a check may take however short the text is: some milliseconds.
const MIN_STEPS: usize = 250_000;

/// How many steps a check may take for each byte of the text, where that is not more than [`MANY_STEPS`]. What is read once takes
/// one or two.
const STEPS_PER_BYTE: usize = 32;

/// How many steps a check takes for any text in some seconds.
const MANY_STEPS: usize = 64 << 20;

/// How many steps a check may take for each byte of the text in any case.
const LEAST_STEPS_PER_BYTE: usize = 4;

/// What the validator takes for each place in its hash table of results, where the table has just been made twice as large.
const BYTES_PER_PLACE: usize = 40;

/// How many bytes its table may take however short the text is, and besides half of the text.
const LEAST_TABLE: usize = 96 << 10;

/// How many places of repeated names are kept; an error lists no more.
const MAX_DUPLICATES: usize = 16;

/// What begins in each part of the text; that of a short one needs no memory of its own.
type Blocks = SmallVec<[Block; 4]>;

/// Where values end; those of a short text need no memory of their own.
type Ends = SmallVec<[u32; 16]>;

/// A text and its index.
#[derive(Debug)]
pub(super) struct IndexedText<'t> {
    text: &'t str,
    root: usize,
    /// Where objects, arrays and long strings begin.
    blocks: Blocks,
    /// Where each of them ends, in the order in which they begin.
    ends: Ends,
    /// Where names stand that an earlier member of the same object already has: the first ones, and how many there are.
    duplicates: (Vec<usize>, usize),
    has_null_member: bool,
    has_unwanted_member: bool,
    root_members: usize,
    /// How much of the text an explanation may still read; none where it may read all.
    limit: Cell<Option<ReadLimit>>,
    /// How many steps the validator may still take.
    steps: Cell<usize>,
    /// How long an object or array must be for the validator to remember its result.
    least_remembered: Cell<usize>,
}

/// What begins in 64 bytes of the text.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// A bit for every byte at which an object, an array or a long string begins; as bytes, so that a block has no padding.
    starts: [u8; 8],
    /// How many bits are set in the blocks before.
    before: u32,
}

impl Block {
    #[inline]
    fn starts(self) -> u64 {
        u64::from_le_bytes(self.starts)
    }

    #[inline]
    fn add(&mut self, bit: usize) {
        self.starts = (self.starts() | 1 << bit).to_le_bytes();
    }
}

/// Bounds what an explanation of a refusal costs, since the validator keeps everything it finds.
#[derive(Debug, Clone, Copy)]
struct ReadLimit {
    values: usize,
    errors: usize,
}

/// Why a text has no index.
#[derive(Debug)]
pub(super) enum ReadError {
    Json(JsonError),
    OutOfMemory(OutOfMemory),
}

impl From<JsonError> for ReadError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl From<OutOfMemory> for ReadError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl<'t> IndexedText<'t> {
    /// A text that is yet to be [read](Self::read).
    #[inline]
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            root: 0,
            blocks: Blocks::new(),
            ends: Ends::new(),
            duplicates: (Vec::new(), 0),
            has_null_member: false,
            has_unwanted_member: false,
            root_members: 0,
            limit: Cell::new(None),
            steps: Cell::new(usize::MAX),
            least_remembered: Cell::new(usize::MAX),
        }
    }

    /// Reads the text, on past duplicate names, with the memory that it may take. It fills the index in place: returned, it
    /// would be copied several times, which is a part of what a short text costs.
    ///
    /// What is in members of the root that are not `wanted` is read, but not put into the index: these are cut out and never
    /// read again.
    pub(super) fn read(&mut self, wanted: &dyn Fn(&str) -> bool, memory: &mut CheckMemory) -> Result<(), ReadError> {
        let text = self.text;
        if u32::try_from(text.len()).is_err() {
            return Err(OutOfMemory.into());
        }
        let blocks = text.len() / 64 + 1;
        memory.grow(blocks * size_of::<Block>())?;
        self.blocks.resize(blocks, Block::default());
        let mut lexer = Lexer::new(text);
        lexer.skip_whitespace();
        self.root = lexer.position();
        let open = OpenNames::new(text);
        Reader { lexer, open, innermost: NO_END, document: self, wanted, skipping: false, memory, names_reserved: 0 }
            .read()?;
        let mut before = 0;
        for block in &mut self.blocks {
            block.before = before;
            before += block.starts().count_ones();
        }
        Ok(())
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Where the root value begins.
    pub(super) fn root(&self) -> usize {
        self.root
    }

    /// Where names stand that an earlier member of the same object already has: the first ones, and how many there are.
    pub(super) fn duplicates(&self) -> (&[usize], usize) {
        (&self.duplicates.0, self.duplicates.1)
    }

    /// Whether any member of any object is `null`.
    pub(super) fn has_null_member(&self) -> bool {
        self.has_null_member
    }

    /// Whether the root has members that are not wanted.
    pub(super) fn has_unwanted_member(&self) -> bool {
        self.has_unwanted_member
    }

    /// How many members the root has where it is an object: what is required is asked for by their number first.
    pub(super) fn root_members(&self) -> usize {
        self.root_members
    }

    /// Where the value ends that begins at `start`.
    #[inline]
    pub(super) fn end_of(&self, start: usize) -> usize {
        let bit = start % 64;
        if let Some(block) = self.blocks.get(start / 64)
            && block.starts() >> bit & 1 == 1
        {
            let before = block.starts() & ((1 << bit) - 1);
            let index = block.before + before.count_ones();
            return self.ends.get(index as usize).map_or(self.text.len(), |end| *end as usize);
        }
        let mut lexer = Lexer::starting_at(self.text, start);
        // The text was read before, so a scalar stands here.
        lexer.skip_known_scalar();
        lexer.position().max(start + 1)
    }

    /// Lets an explanation read only so many values and find only so many errors, in proportion to the text.
    pub(super) fn limit_reading(&self) {
        self.limit.set(Some(ReadLimit { values: (self.text.len() / 32).max(100_000), errors: 1_000 }));
    }

    /// Lets the validator take only so many steps, in proportion to the text, and remember only so many results of a schema with
    /// so many references; says how many bytes those take at most.
    pub(super) fn limit_steps(&self, references: usize) -> usize {
        let length = self.text.len();
        let steps = length.saturating_mul(STEPS_PER_BYTE).min(MANY_STEPS);
        self.steps.set(steps.max(length.saturating_mul(LEAST_STEPS_PER_BYTE)).saturating_add(MIN_STEPS));
        // The table has a power of two of places, seven of eight of them in use.
        let places = 1_usize << ((LEAST_TABLE + length / 2) / BYTES_PER_PLACE).ilog2();
        let (least, remembered) = self.longest(references, places / 8 * 7);
        self.least_remembered.set(least);
        (remembered * 8 / 7 + 1).next_power_of_two() * BYTES_PER_PLACE
    }

    /// How long objects and arrays must be for the results of the schema for them, one for each reference, to be no more than
    /// `most`, and how many results those are.
    fn longest(&self, references: usize, most: usize) -> (usize, usize) {
        let all = self.ends.len().saturating_mul(references);
        if all <= most {
            return (0, all);
        }
        // How many there are of each length, by its number of binary digits.
        let mut counts = [0_usize; usize::BITS as usize];
        let starts = self.blocks.iter().enumerate().flat_map(|(index, block)| {
            let mut bits = block.starts();
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(index * 64 + bit)
            })
        });
        for (start, end) in starts.zip(&self.ends) {
            let length = (*end as usize).saturating_sub(start).max(1);
            if let Some(count) = counts.get_mut(length.ilog2() as usize) {
                *count += 1;
            }
        }
        let mut remembered = 0;
        for (digits, count) in counts.into_iter().enumerate().rev() {
            let more = count.saturating_mul(references);
            if remembered + more > most {
                return (2 << digits, remembered);
            }
            remembered += more;
        }
        (0, remembered)
    }

    /// Counts a step of the validator; says whether it may be taken.
    #[inline]
    pub(super) fn note_step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether the validator may remember its result for the object or array that begins at `start`, so that it need not check
    /// it again.
    pub(super) fn may_remember(&self, start: usize) -> bool {
        self.end_of(start).saturating_sub(start) >= self.least_remembered.get()
    }

    /// Whether a limit was reached: what is found from then on is about a part of the text only.
    pub(super) fn is_cut_short(&self) -> bool {
        self.steps.get() == 0 || self.limit.get().is_some_and(|limit| limit.values == 0 || limit.errors == 0)
    }

    /// Counts a value that is read; says whether it may be.
    #[inline]
    pub(super) fn note_value(&self) -> bool {
        match self.limit.get() {
            None => true,
            Some(limit) => {
                self.limit.set(Some(ReadLimit { values: limit.values.saturating_sub(1), ..limit }));
                limit.values > 0 && limit.errors > 0
            }
        }
    }

    /// Lets all of the text be read again.
    pub(super) fn lift_limit(&self) {
        self.limit.set(None);
        self.steps.set(usize::MAX);
    }

    /// Counts an error that was found.
    pub(super) fn note_error(&self) {
        if let Some(limit) = self.limit.get() {
            self.limit.set(Some(ReadLimit { errors: limit.errors.saturating_sub(1), ..limit }));
        }
    }
}

/// The pass that makes the index.
struct Reader<'t, 'm> {
    lexer: Lexer<'t>,
    open: OpenNames<'t>,
    /// What is filled. Of an object or an array that is still open, its `ends` have the index of the one around it.
    document: &'m mut IndexedText<'t>,
    /// The index of the end of the innermost open object or array.
    innermost: u32,
    wanted: &'m dyn Fn(&str) -> bool,
    /// Whether this is inside a member of the root that is not wanted.
    skipping: bool,
    memory: &'m mut CheckMemory,
    /// How many bytes of `open` are reserved in the budget.
    names_reserved: usize,
}

impl Reader<'_, '_> {
    fn read(&mut self) -> Result<(), ReadError> {
        loop {
            self.lexer.skip_whitespace();
            let start = self.lexer.position();
            match self.lexer.peek() {
                Some(first @ (b'{' | b'[')) => {
                    if self.open.depth() == MAX_DEPTH {
                        return Err(self.lexer.error(JsonErrorKind::Depth).into());
                    }
                    self.begin(start)?;
                    self.lexer.advance();
                    self.lexer.skip_whitespace();
                    let is_object = first == b'{';
                    if self.lexer.eat(if is_object { b'}' } else { b']' }) {
                        self.end();
                    } else {
                        self.open.push(is_object);
                        if is_object {
                            self.name()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.lexer.string()?;
                    if self.lexer.position() - start >= LONG_STRING {
                        self.begin(start)?;
                        self.end();
                    }
                }
                _ => self.scalar()?,
            }
            // After a value: the next one, or the end of as many levels as end here.
            loop {
                let Some(is_object) = self.open.is_in_object() else { return Ok(self.lexer.expect_end()?) };
                if !self.lexer.closes(is_object)? {
                    if is_object {
                        self.name()?;
                    }
                    break;
                }
                self.open.pop();
                self.end();
            }
        }
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.lexer.peek() {
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => self.lexer.skip_scalar(),
            _ => Err(self.lexer.error(JsonErrorKind::Value)),
        }
    }

    /// Whether a value here, in a member of the root that is not wanted, is left out of the index.
    fn is_left_out(&self) -> bool {
        self.skipping && self.open.depth() > 1
    }

    fn begin(&mut self, start: usize) -> Result<(), OutOfMemory> {
        if self.is_left_out() {
            return Ok(());
        }
        let index = self.document.ends.len();
        if index.is_multiple_of(STEP) {
            self.memory.grow(STEP * size_of::<u32>())?;
        }
        self.document.ends.push(self.innermost);
        // These fit: longer texts are not read.
        self.innermost = u32::try_from(index).unwrap_or(NO_END);
        if let Some(block) = self.document.blocks.get_mut(start / 64) {
            block.add(start % 64);
        }
        Ok(())
    }

    /// Ends the value that began last and has not ended.
    fn end(&mut self) {
        if self.is_left_out() {
            return;
        }
        if let Some(end) = self.document.ends.get_mut(self.innermost as usize) {
            self.innermost = *end;
            *end = u32::try_from(self.lexer.position()).unwrap_or(NO_END);
        }
    }

    fn name(&mut self) -> Result<(), ReadError> {
        self.lexer.skip_whitespace();
        let start = self.lexer.position();
        let name: JsonString<'_> = self.lexer.name()?;
        if self.open.depth() == 1 {
            self.skipping = !(self.wanted)(&name.decode());
            self.document.has_unwanted_member |= self.skipping;
            self.document.root_members += 1;
        }
        if !self.open.insert(start, name) {
            self.document.duplicates.1 += 1;
            if self.document.duplicates.0.len() < MAX_DUPLICATES {
                self.document.duplicates.0.push(start);
            }
        }
        let allocated = self.open.allocated();
        if allocated > self.names_reserved {
            self.memory.grow(allocated - self.names_reserved)?;
            self.names_reserved = allocated;
        }
        self.document.has_null_member |= !self.skipping && self.lexer.peek() == Some(b'n');
        Ok(())
    }
}
