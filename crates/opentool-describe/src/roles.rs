//! Which parameters are buffers, which way they go, and which parameters count them.

use crate::comments::Comment;
use crate::ctype::{Signature, Type};
use crate::words::{self, Direction};

/// What a parameter that points to bytes or numbers is for.
#[derive(Debug, Clone)]
pub(crate) struct BufferRole {
    /// Whether the function reads it; otherwise it writes it.
    pub(crate) goes_in: bool,
    /// Whether that is known, by `const` or the comment, or only suggested by names.
    pub(crate) is_direction_sure: bool,
    /// The parameter that holds its size before the call, or the length of what goes in.
    pub(crate) size: Option<Counter>,
    /// The parameter that holds how much of it was written.
    pub(crate) length: Option<usize>,
    /// Whether the size is that of the buffer after it too, which is copied into this one.
    pub(crate) is_copy: bool,
}

/// A parameter that counts another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counter {
    pub(crate) index: usize,
    /// Whether it is passed by pointer.
    pub(crate) by_pointer: bool,
    /// Whether names say that it counts this one; otherwise that is a guess by type and place.
    pub(crate) is_sure: bool,
}

/// The roles of all parameters of a function.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    pub(crate) buffers: Vec<Option<BufferRole>>,
}

impl Roles {
    /// Finds the roles of parameters, by their types, names, order and comments; `is_opaque` tells addresses of objects.
    pub(crate) fn find(
        function: &str,
        signature: &Signature,
        comment: Option<&Comment>,
        is_opaque: impl Fn(&Type) -> bool,
    ) -> Self {
        let finder = RoleFinder { function, signature, comment, claimed: vec![false; signature.parameters.len()] };
        finder.find(is_opaque)
    }

    /// The buffers that a parameter counts.
    pub(crate) fn counted_by(&self, counter: usize) -> impl Iterator<Item = (usize, &BufferRole)> {
        self.buffers.iter().enumerate().filter_map(move |(index, role)| {
            let role = role.as_ref()?;
            let counts = role.size.is_some_and(|size| size.index == counter) || role.length == Some(counter);
            counts.then_some((index, role))
        })
    }
}

struct RoleFinder<'f> {
    function: &'f str,
    signature: &'f Signature,
    comment: Option<&'f Comment>,
    /// The counters that are known to belong to some buffer.
    claimed: Vec<bool>,
}

impl RoleFinder<'_> {
    fn find(mut self, is_opaque: impl Fn(&Type) -> bool) -> Roles {
        let count = self.signature.parameters.len();
        let mut buffers: Vec<Option<BufferRole>> = Vec::with_capacity(count);
        for index in 0..count {
            let is_buffer = self
                .target(index)
                .is_some_and(|target| (target.is_bytes() || target.scalar().is_some()) && !is_opaque(&target));
            buffers.push(is_buffer.then(|| self.buffer(index)));
        }
        self.pair_by_name(&mut buffers);
        self.pair_by_place(&mut buffers);
        self.pair_copies(&mut buffers);
        self.pair_by_order(&mut buffers);
        self.find_lengths(&mut buffers);
        Roles { buffers }
    }

    fn name(&self, index: usize) -> &str {
        self.signature.parameters[index].0.as_deref().unwrap_or_default().trim_start_matches('_')
    }

    fn kind(&self, index: usize) -> &Type {
        &self.signature.parameters[index].1
    }

    fn target(&self, index: usize) -> Option<Type> {
        self.kind(index).pointee().filter(|target| target.pointee().is_none() && !target.is_function())
    }

    fn buffer(&self, index: usize) -> BufferRole {
        let own = self.signature.parameters[index].0.as_deref().unwrap_or_default();
        let said = self.comment.and_then(|comment| comment.parameters.get(own)?.direction);
        let target = self.target(index);
        let is_const = target.as_ref().is_some_and(|target| target.is_const);
        let named = words::direction(self.function, self.name(index));
        // What may not be written to is no output, whatever its description begins with.
        let said = said.filter(|(_, out)| !(is_const && *out));
        let (goes_in, is_direction_sure) = match (said, is_const) {
            (Some((_, out)), _) => (!out, true),
            (None, true) => (true, true),
            // Numbers behind a pointer without `const` are results far more often than not, whatever they are called.
            (None, false) => (named == Some(Direction::In) && target.is_some_and(|target| target.is_bytes()), false),
        };
        BufferRole { goes_in, is_direction_sure, size: None, length: None, is_copy: false }
    }

    /// Whether a parameter may count: an integer, or a pointer to one that the function may change.
    fn counter(&self, index: usize) -> Option<Counter> {
        let kind = self.kind(index);
        // A place in a file counts nothing in memory: `truncate(path, length)`.
        if kind.is_named(&["off_t", "off64_t", "loff_t"]) {
            return None;
        }
        if kind.is_integer() {
            return kind.enumeration().is_none().then_some(Counter { index, by_pointer: false, is_sure: false });
        }
        let target = kind.pointee()?;
        let counts = target.is_integer() && !target.is_const && !target.is_bytes() && target.enumeration().is_none();
        (counts && kind.array_length().is_none()).then_some(Counter { index, by_pointer: true, is_sure: false })
    }

    /// `in, inl` and `out, outl`: the length of the one before it.
    fn is_short_for_length(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let buffer = self.name(before);
        buffer.len() >= 2 && self.name(index).strip_prefix(buffer) == Some("l")
    }

    fn pair_by_name(&mut self, buffers: &mut [Option<BufferRole>]) {
        for index in 0..buffers.len() {
            let is_named = || words::counts(self.name(index)) || self.is_short_for_length(index);
            let Some(counter) = self.counter(index).filter(|_| is_named()) else { continue };
            let owners = (0..buffers.len()).filter(|buffer| {
                *buffer != index
                    && buffers[*buffer].is_some()
                    && words::belongs_to(self.name(index), self.name(*buffer))
            });
            // `out` and `out_len_ptr` both fit `out_len`: what counts is itself no buffer.
            let owner =
                owners.filter(|buffer| !words::counts(self.name(*buffer))).min_by_key(|buffer| buffer.abs_diff(index));
            let Some(role) = owner.and_then(|owner| buffers[owner].as_mut()) else { continue };
            let counter = Counter { is_sure: true, ..counter };
            match (&role.size, counter.by_pointer) {
                (None, _) => role.size = Some(counter),
                (Some(size), true) if !size.by_pointer && !role.goes_in => role.length = Some(index),
                (Some(size), false) if size.by_pointer && !role.goes_in => {
                    role.length = Some(size.index);
                    role.size = Some(counter);
                }
                _ => continue,
            }
            self.claimed[index] = true;
        }
        // A parameter that counts another is no buffer of its own.
        for (index, claimed) in self.claimed.iter().enumerate() {
            if *claimed {
                buffers[index] = None;
            }
        }
    }

    /// `(data, length, size_t *sent, …)`: what follows a length and holds one says how much of the data was taken.
    fn is_amount(&self, index: usize) -> bool {
        let follows = index.checked_sub(1).is_some_and(|before| self.claimed[before] && self.kind(before).is_integer());
        follows && self.target(index).is_some_and(|target| !target.is_const && target.is_named(&["size_t", "ssize_t"]))
    }

    /// What follows a buffer and is an integer counts it.
    fn pair_by_place(&mut self, buffers: &mut [Option<BufferRole>]) {
        for index in 0..buffers.len() {
            let Some(role) = buffers[index].as_ref().filter(|role| role.size.is_none()) else { continue };
            if self.kind(index).array_length().is_some() || self.is_amount(index) {
                continue;
            }
            let next = index + 1;
            let Some(counter) = (next < buffers.len()).then(|| self.counter(next)).flatten() else { continue };
            let name = self.name(next).to_owned();
            let named = words::counts(&name) || words::is_hungarian(&name);
            let target = self.target(index);
            let is_text_in = role.goes_in
                && target.as_ref().is_some_and(Type::is_bytes)
                && !target.as_ref().is_some_and(Type::is_void);
            // A text goes with its length, but a number after it may be the most of something else.
            let is_of_another = words::is_of_another(&name, self.name(index));
            if (is_text_in && is_of_another) || words::is_setting(&name) {
                continue;
            }
            let named = named && !is_of_another && (!is_text_in || is_length_of_text(&name));
            let counted = if counter.by_pointer { self.kind(next).pointee() } else { Some(self.kind(next).clone()) };
            let is_size = counted.is_some_and(|counted| counted.is_named(&["size_t", "ssize_t"]));
            let is_bytes = target.as_ref().is_some_and(Type::is_bytes);
            // What is written as bytes goes with a length, however short its name.
            let is_cell =
                counter.by_pointer && name.len() == 1 && is_bytes && !target.as_ref().is_some_and(Type::is_text);
            if self.claimed[next]
                || !(named || name == "n" || is_size || is_cell || words::counts(&name))
                // What counts by a pointer may be a result of its own: then names must say it.
                || (counter.by_pointer && (role.goes_in || !is_bytes || !(named || is_size || is_cell)))
            {
                continue;
            }
            let is_plain_n = name == "n" && !target.as_ref().is_some_and(Type::is_text);
            // `(name, len)` may be a thing of that name and length.
            let is_label =
                is_text_in && target.as_ref().is_some_and(Type::is_text) && words::is_label(self.name(index));
            let counter = Counter { is_sure: (named && !is_label) || is_plain_n, ..counter };
            let index = if is_label { self.text_after(buffers, next).unwrap_or(index) } else { index };
            // `char *error, int *length`: a cell that counts is no buffer.
            if counter.by_pointer {
                buffers[next] = None;
            }
            if let Some(role) = buffers[index].as_mut() {
                role.size = Some(counter);
            }
            self.claimed[next] = true;
        }
    }

    /// `(name, len, value)`: the text that a length after a label is about.
    fn text_after(&self, buffers: &[Option<BufferRole>], counter: usize) -> Option<usize> {
        let after = counter + 1;
        let role = buffers.get(after)?.as_ref()?;
        let is_text = self.target(after).is_some_and(|target| target.is_text());
        let has_own =
            after + 1 < buffers.len() && self.counter(after + 1).is_some() && words::counts(self.name(after + 1));
        (is_text && role.goes_in && role.size.is_none() && !has_own && !words::is_label(self.name(after)))
            .then_some(after)
    }

    /// `(into, const from, size)`: what is copied has the size of what it is copied from.
    fn pair_copies(&mut self, buffers: &mut [Option<BufferRole>]) {
        for index in 0..buffers.len().saturating_sub(2) {
            let (Some(into), Some(target)) = (&buffers[index], self.target(index)) else { continue };
            if into.goes_in || into.size.is_some() || self.kind(index).array_length().is_some() {
                continue;
            }
            // Where there are several sources, the size is that of all: `mpn_add_n(r, a, b, n)`.
            let sources = (index + 1..buffers.len()).take_while(|source| {
                let alike = self.target(*source).is_some_and(|from| match (target.is_bytes(), from.is_bytes()) {
                    (true, true) => target.is_text() == from.is_text(),
                    (false, false) => target.scalar().is_some() && target.scalar() == from.scalar(),
                    _ => false,
                });
                alike && buffers[*source].as_ref().is_some_and(|role| role.goes_in && role.is_direction_sure)
            });
            let sources: Vec<usize> = sources.collect();
            let Some(last) = sources.last().copied() else { continue };
            let size = buffers[last].as_ref().and_then(|role| role.size).filter(|size| !size.by_pointer);
            let Some(size) = size.or_else(|| {
                let is_there = last + 1 < buffers.len();
                let after = is_there.then(|| self.counter(last + 1)).flatten();
                let after = after.filter(|counter| !counter.by_pointer && !self.claimed[last + 1]);
                after.filter(|_| {
                    words::counts(self.name(last + 1)) || self.name(last + 1) == "n" || self.name(last + 1).is_empty()
                })
            }) else {
                continue;
            };
            // Numbers would be left with one cell, which many of them overflow; bytes have a buffer in any case.
            if target.is_bytes() && words::belongs_to(self.name(size.index), self.name(last)) {
                continue;
            }
            self.claimed[size.index] = true;
            for source in &sources {
                let role = buffers[*source].as_mut();
                let Some(role) = role else { continue };
                // The size of a text that is copied is that of the buffer: the text ends by itself.
                role.size = (!target.is_text()).then_some(role.size.unwrap_or(size));
            }
            if let Some(into) = buffers[index].as_mut() {
                into.size = Some(Counter { is_sure: false, ..size });
                into.is_copy = true;
            }
        }
    }

    /// `(out, size, *written)`: what follows the size of a buffer and is a pointer says how much was written.
    fn find_lengths(&mut self, buffers: &mut [Option<BufferRole>]) {
        for index in 0..buffers.len() {
            let Some(role) = buffers[index].as_ref().filter(|role| !role.goes_in && role.length.is_none()) else {
                continue;
            };
            let Some(after) = role.size.filter(|size| !size.by_pointer).map(|size| size.index + 1) else { continue };
            if after >= buffers.len() || self.claimed[after] {
                continue;
            }
            let is_size = || self.target(after).is_some_and(|target| target.is_named(&["size_t", "ssize_t"]));
            if !words::counts(self.name(after)) && !is_size() {
                continue;
            }
            if self.counter(after).is_some_and(|counter| counter.by_pointer) {
                buffers[after] = None;
                self.claimed[after] = true;
                if let Some(role) = buffers[index].as_mut() {
                    role.length = Some(after);
                }
            }
        }
    }

    /// Where as many buffers as counters are left, they belong together in their order.
    fn pair_by_order(&mut self, buffers: &mut [Option<BufferRole>]) {
        let open: Vec<usize> = (0..buffers.len())
            .filter(|index| {
                let is_bytes = self.target(*index).is_some_and(|target| target.is_bytes());
                is_bytes
                    && self.kind(*index).array_length().is_none()
                    && buffers[*index].as_ref().is_some_and(|role| role.size.is_none() && !role.is_copy)
            })
            .collect();
        let counters: Vec<Counter> = (0..buffers.len())
            .filter(|index| !self.claimed[*index] && words::counts(self.name(*index)))
            .filter_map(|index| self.counter(index).filter(|counter| !counter.by_pointer))
            .collect();
        if open.len() != counters.len() {
            return;
        }
        let is_only = open.len() == 1;
        for (buffer, counter) in open.into_iter().zip(counters) {
            // `(length, data)` and nothing else.
            let counter = Counter { is_sure: is_only && counter.index + 1 == buffer, ..counter };
            let is_text = self.target(buffer).is_some_and(|target| target.is_text());
            let is_of_another = words::is_of_another(self.name(counter.index), self.name(buffer));
            let Some(role) = buffers[buffer].as_mut() else { continue };
            // A text of its own needs no length that does not stand beside it, nor one that is named after something else.
            let is_far = buffer.abs_diff(counter.index) > 2
                || (is_of_another && (!words::is_binary(self.function) || words::is_text(self.name(buffer))));
            if is_text && role.goes_in && is_far {
                continue;
            }
            role.size = Some(counter);
            self.claimed[counter.index] = true;
        }
    }
}

/// Whether a name says that it counts the bytes of a text.
fn is_length_of_text(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["len", "size", "byte"].iter().any(|word| lower.contains(word))
}
