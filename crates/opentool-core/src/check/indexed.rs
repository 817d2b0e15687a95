//! Arguments that were read once: known to be JSON, with an index of where their objects, arrays and long strings end.
//!
//! There is no tree. A value is a place in the text, and what is in it is read where it is asked for; the index lets a
//! reader step over a value at once, so that every pass takes time in proportion to the text. It takes at most 2.2 times
//! the memory of the text, however short and deep the values are, while a tree of short arrays would take a hundred times.

use std::cell::Cell;

use opentool_spec::json::{JsonError, JsonErrorKind, JsonString, Lexer, MAX_DEPTH, OpenNames};

use super::memory::{CheckMemory, OutOfMemory};

/// How many bytes a string must have for its end to be in the index; a shorter one is read again as quickly.
const LONG_STRING: usize = 64;

/// Stands for a place in the index that there is not.
const NOT_INDEXED: usize = usize::MAX;

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

/// A text and its index.
#[derive(Debug)]
pub(super) struct IndexedText<'t> {
    text: &'t str,
    root: usize,
    /// A bit for every byte at which an object, an array or a long string begins.
    starts: Vec<u64>,
    /// For every word of `starts`, how many bits are set before it.
    ranks: Vec<u32>,
    /// Where each of them ends, in the order in which they begin.
    ends: Vec<u32>,
    /// Where names stand that an earlier member of the same object already has: the first ones, and how many there are.
    duplicates: (Vec<usize>, usize),
    has_null_member: bool,
    /// How much of the text an explanation may still read; none where it may read all.
    limit: Cell<Option<ReadLimit>>,
    /// How many steps the validator may still take.
    steps: Cell<usize>,
    /// How long an object or array must be for the validator to remember its result.
    least_remembered: Cell<usize>,
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
    /// Reads a text, on past duplicate names, with the memory that it may take.
    ///
    /// What is in members of the root that are not `wanted` is read, but not put into the index: these are cut out and never
    /// read again.
    pub(super) fn read(
        text: &'t str,
        wanted: &dyn Fn(&str) -> bool,
        memory: &mut CheckMemory,
    ) -> Result<Self, ReadError> {
        if u32::try_from(text.len()).is_err() {
            return Err(OutOfMemory.into());
        }
        let words = text.len() / 64 + 1;
        memory.grow(words * (size_of::<u64>() + size_of::<u32>()))?;
        let mut reader = Reader {
            lexer: Lexer::new(text),
            open: OpenNames::new(text),
            open_ends: Vec::new(),
            starts: vec![0; words],
            ends: Vec::new(),
            duplicates: (Vec::new(), 0),
            has_null_member: false,
            wanted,
            skipping: false,
            memory,
            names_reserved: 0,
        };
        reader.lexer.skip_whitespace();
        let root = reader.lexer.position();
        reader.read()?;
        let Reader { starts, ends, duplicates, has_null_member, .. } = reader;
        let mut rank = 0;
        let ranks = starts.iter().map(|word| {
            let before = rank;
            rank += word.count_ones();
            before
        });
        let ranks = ranks.collect();
        Ok(Self {
            text,
            root,
            starts,
            ranks,
            ends,
            duplicates,
            has_null_member,
            limit: Cell::new(None),
            steps: Cell::new(usize::MAX),
            least_remembered: Cell::new(usize::MAX),
        })
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

    /// Where the value ends that begins at `start`.
    #[inline]
    pub(super) fn end_of(&self, start: usize) -> usize {
        let (word, bit) = (start / 64, start % 64);
        if let (Some(bits), Some(rank)) = (self.starts.get(word), self.ranks.get(word))
            && bits >> bit & 1 == 1
        {
            let before = bits & ((1 << bit) - 1);
            let index = *rank + before.count_ones();
            return self.ends.get(index as usize).map_or(self.text.len(), |end| *end as usize);
        }
        let mut lexer = Lexer::starting_at(self.text, start);
        // The text was read before, so a scalar stands here.
        let _ = lexer.skip_scalar();
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
        let starts = self.starts.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(word * 64 + bit)
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
    /// For each open object and array, where its end goes.
    open_ends: Vec<usize>,
    starts: Vec<u64>,
    ends: Vec<u32>,
    duplicates: (Vec<usize>, usize),
    has_null_member: bool,
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
                    let index = self.begin(start)?;
                    self.lexer.advance();
                    self.lexer.skip_whitespace();
                    let is_object = first == b'{';
                    if self.lexer.eat(if is_object { b'}' } else { b']' }) {
                        self.end(index);
                    } else {
                        self.open.push(is_object);
                        self.open_ends.push(index);
                        if is_object {
                            self.name()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    self.lexer.string()?;
                    if self.lexer.position() - start >= LONG_STRING {
                        let index = self.begin(start)?;
                        self.end(index);
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
                if let Some(index) = self.open_ends.pop() {
                    self.end(index);
                }
            }
        }
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.lexer.peek() {
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => self.lexer.skip_scalar(),
            _ => Err(self.lexer.error(JsonErrorKind::Value)),
        }
    }

    fn begin(&mut self, start: usize) -> Result<usize, OutOfMemory> {
        if self.skipping && self.open.depth() > 1 {
            return Ok(NOT_INDEXED);
        }
        let index = self.ends.len();
        if index.is_multiple_of(STEP) {
            self.memory.grow(STEP * size_of::<u32>())?;
        }
        self.ends.push(u32::MAX);
        if let Some(word) = self.starts.get_mut(start / 64) {
            *word |= 1 << (start % 64);
        }
        Ok(index)
    }

    fn end(&mut self, index: usize) {
        if let Some(end) = self.ends.get_mut(index) {
            // It fits: longer texts are not read.
            *end = u32::try_from(self.lexer.position()).unwrap_or(u32::MAX);
        }
    }

    fn name(&mut self) -> Result<(), ReadError> {
        self.lexer.skip_whitespace();
        let start = self.lexer.position();
        let name: JsonString<'_> = self.lexer.name()?;
        if self.open.depth() == 1 {
            self.skipping = !(self.wanted)(&name.decode());
        }
        if !self.open.insert(start, name) {
            self.duplicates.1 += 1;
            if self.duplicates.0.len() < MAX_DUPLICATES {
                self.duplicates.0.push(start);
            }
        }
        let allocated = self.open.allocated();
        if allocated > self.names_reserved {
            self.memory.grow(allocated - self.names_reserved)?;
            self.names_reserved = allocated;
        }
        self.has_null_member |= !self.skipping && self.lexer.peek() == Some(b'n');
        Ok(())
    }
}
