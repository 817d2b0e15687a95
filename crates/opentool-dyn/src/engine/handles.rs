//! The pointers that a library has handed out, and the tokens by which callers know them: [`Handles`].

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::loaded::FreeFunction;
use super::retained::RetainedMemory;
use crate::closure::Record;

/// The handles of one library.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    /// Whether calls run at the same time, so that one may close what another uses.
    counts_users: bool,
    tokens: Tokens,
    table: Mutex<HandleTable>,
}

#[derive(Debug, Default)]
struct HandleTable {
    by_token: HashMap<String, Handle>,
    /// The tokens of an address, so that a pointer which the library returns again is the same handle, and so that all of them
    /// end when one of them does.
    by_address: HashMap<usize, Vec<String>>,
}

#[derive(Debug)]
struct Handle {
    kind: Arc<str>,
    /// An address of the library, which callers never see.
    address: usize,
    /// How many bytes are there, where it is known.
    size: Option<usize>,
    /// Whether a call that may end it is running.
    closing: bool,
    /// How many other calls are running that were given it, which is known only where several run at the same time.
    users: usize,
    /// The handle with which it ends.
    parent: Option<String>,
    /// The handles that end with it.
    children: Vec<String>,
    /// What ends it before its parent ends.
    close: Option<FreeFunction>,
    /// What its callbacks have recorded.
    record: Option<Arc<Record>>,
    /// Memory that lives as long as it does.
    retained: Vec<RetainedMemory>,
}

/// A handle that is to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewHandle<'a> {
    pub(crate) pointer: *mut c_void,
    pub(crate) kind: &'a Arc<str>,
    /// How many bytes are there, where it is known.
    pub(crate) size: Option<usize>,
    /// The token of the handle with which it ends.
    pub(crate) parent: Option<&'a [u8]>,
    /// What ends it before its parent ends.
    pub(crate) close: Option<FreeFunction>,
}

/// What a call does with a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleUse {
    /// It uses it, as others may at the same time.
    Shared,
    /// It uses it alone, since it writes to the fields of its struct.
    Exclusive,
    /// It may end it.
    Closes,
}

/// The number of users of a handle that one call uses alone.
const EXCLUSIVE: usize = usize::MAX;

/// The object of a handle, for a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object {
    pub(crate) pointer: *mut c_void,
    /// How many bytes are there, where it is known.
    pub(crate) size: Option<usize>,
}

impl HandleTable {
    /// The handles that end when this one does: those of the same address, and what belongs to any of them.
    fn ending_with(&self, token: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut waiting = vec![token];
        while let Some(token) = waiting.pop() {
            let Some(handle) = self.by_token.get(token).filter(|_| !all.iter().any(|known| known == token)) else {
                continue;
            };
            all.push(token.to_owned());
            waiting.extend(handle.children.iter().map(String::as_str));
            waiting.extend(self.by_address.get(&handle.address).into_iter().flatten().map(String::as_str));
        }
        all
    }

    fn remove(&mut self, token: &str) -> Option<Handle> {
        let handle = self.by_token.remove(token)?;
        if let Some(tokens) = self.by_address.get_mut(&handle.address) {
            tokens.retain(|other| other != token);
            if tokens.is_empty() {
                self.by_address.remove(&handle.address);
            }
        }
        if let Some(parent) = handle.parent.as_ref().and_then(|parent| self.by_token.get_mut(parent)) {
            parent.children.retain(|child| child != token);
        }
        Some(handle)
    }
}

impl Handles {
    /// No handles yet, of a library whose calls may run at the same time or may not.
    pub(crate) fn new(thread_safe: bool) -> Self {
        Handles { counts_users: thread_safe, ..Handles::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table().by_token.is_empty()
    }

    /// The token of a pointer that the library has handed out as a handle of this type.
    pub(crate) fn token(&self, new: NewHandle<'_>) -> String {
        let mut table = self.table();
        let address = new.pointer.addr();
        let known = table.by_address.get(&address).into_iter().flatten().find(|token| {
            table.by_token.get(*token).is_some_and(|handle| !handle.closing && *handle.kind == **new.kind)
        });
        // Where another call is just closing a handle of this pointer, the library has given the memory to a new object.
        if let Some(token) = known {
            return token.clone();
        }
        new.pointer.expose_provenance();
        let token = self.tokens.next(new.kind);
        let parent = new.parent.and_then(|parent| std::str::from_utf8(parent).ok());
        let parent = parent.and_then(|parent| {
            table.by_token.get_mut(parent)?.children.push(token.clone());
            Some(parent.to_owned())
        });
        let handle = Handle {
            kind: new.kind.clone(),
            address,
            size: new.size,
            closing: false,
            users: 0,
            parent,
            children: Vec::new(),
            close: new.close,
            record: None,
            retained: Vec::new(),
        };
        table.by_token.insert(token.clone(), handle);
        table.by_address.entry(address).or_default().push(token.clone());
        token
    }

    /// The object that a token stands for; unless it is shared, others cannot use it until the call has ended.
    ///
    /// # Errors
    ///
    /// Where there is no such handle, or it is of another type: what is wrong with the token.
    pub(crate) fn object(&self, token: &[u8], kind: &str, handle_use: HandleUse) -> Result<Object, String> {
        let mut table = self.table();
        let token = std::str::from_utf8(token).unwrap_or_default();
        let Some(handle) = table.by_token.get_mut(token) else {
            return Err(format!(
                "expected a handle of type `{kind}` that is open: this one was closed, went with a library that was started again, or never was one"
            ));
        };
        if *handle.kind != *kind {
            return Err(format!("expected a handle of type `{kind}`, got one of type `{}`", handle.kind));
        }
        if handle.closing {
            return Err(format!("expected a handle of type `{kind}` that is open: another call is closing this one"));
        }
        // The library made this address and gets it back; it is not dereferenced here.
        let pointer = std::ptr::with_exposed_provenance_mut(handle.address);
        let object = Object { pointer, size: handle.size };
        let in_use = |which: &str| {
            Err(format!("expected a handle of type `{kind}` that no call uses: another call is using {which}"))
        };
        match handle_use {
            HandleUse::Closes => {}
            _ if !self.counts_users => return Ok(object),
            HandleUse::Exclusive if handle.users == 0 => {
                handle.users = EXCLUSIVE;
                return Ok(object);
            }
            HandleUse::Shared if handle.users != EXCLUSIVE => {
                handle.users += 1;
                return Ok(object);
            }
            HandleUse::Shared | HandleUse::Exclusive => return in_use("this one"),
        }
        let ending = table.ending_with(token);
        let is_used =
            |token: &String| table.by_token.get(token).is_some_and(|handle| handle.users > 0 || handle.closing);
        if let Some(used) = ending.iter().find(|token| is_used(token)) {
            return in_use(if used == token { "this one" } else { "one that ends with it" });
        }
        for token in &ending {
            if let Some(handle) = table.by_token.get_mut(token) {
                handle.closing = true;
            }
        }
        Ok(object)
    }

    /// Takes the handles that must be ended before this one is, the innermost first: each with what ends it.
    pub(crate) fn take_children(&self, token: &[u8]) -> Vec<(FreeFunction, *mut c_void)> {
        let mut table = self.table();
        let Ok(token) = std::str::from_utf8(token) else { return Vec::new() };
        let mut taken = Vec::new();
        for child in table.ending_with(token).into_iter().rev().filter(|child| child != token) {
            if table.by_token.get(&child).is_some_and(|handle| handle.close.is_some())
                && let Some(handle) = table.remove(&child)
                && let Some(close) = handle.close
            {
                taken.push((close, std::ptr::with_exposed_provenance_mut(handle.address)));
            }
        }
        taken
    }

    /// A call that used a handle has ended.
    pub(crate) fn release(&self, token: &[u8]) {
        if self.counts_users
            && let Ok(token) = std::str::from_utf8(token)
            && let Some(handle) = self.table().by_token.get_mut(token)
        {
            handle.users = if handle.users == EXCLUSIVE { 0 } else { handle.users.saturating_sub(1) };
        }
    }

    /// Ends a handle and what ends with it, or leaves them open after a call that should have ended it and failed.
    pub(crate) fn close(&self, token: &[u8], closed: bool) {
        let mut table = self.table();
        let Ok(token) = std::str::from_utf8(token) else { return };
        let mut ended = Vec::new();
        for other in table.ending_with(token) {
            match table.by_token.get_mut(&other) {
                // A new object at the same address is none of those that end.
                Some(handle) if !handle.closing && other != token => {}
                Some(handle) if !closed => handle.closing = false,
                _ => ended.extend(table.remove(&other)),
            }
        }
        drop(table);
        // What they retained is freed while others may use the table.
        drop(ended);
    }

    /// Retains memory for as long as a handle lives; drops it where there is no such handle.
    pub(crate) fn retain(&self, token: &[u8], retained: RetainedMemory) {
        let mut table = self.table();
        if let Ok(token) = std::str::from_utf8(token)
            && let Some(handle) = table.by_token.get_mut(token)
        {
            handle.retained.push(retained);
        }
    }

    /// What the callbacks of a handle record.
    pub(crate) fn record(&self, token: &[u8]) -> Option<Arc<Record>> {
        let mut table = self.table();
        let handle = table.by_token.get_mut(std::str::from_utf8(token).ok()?)?;
        Some(handle.record.get_or_insert_default().clone())
    }

    /// A table is whole between any two of its operations, so a thread that panicked left it whole too.
    fn table(&self) -> MutexGuard<'_, HandleTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes tokens that cannot be guessed: a keyed hash of a number, with keys that the system drew at random.
#[derive(Debug, Default)]
struct Tokens {
    high: RandomState,
    low: RandomState,
    next: AtomicU64,
}

impl Tokens {
    fn next(&self, kind: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (self.high.hash_one((kind, number)), self.low.hash_one((number, kind)));
        format!("{kind}:{high:016x}{low:016x}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn made(pointer: *mut c_void, kind: &Arc<str>) -> NewHandle<'_> {
        NewHandle { pointer, kind, size: None, parent: None, close: None }
    }

    #[test]
    fn a_handle_has_a_token_and_a_type_until_it_is_closed() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::default(), "db".into());
        let pointer = std::ptr::without_provenance_mut(0x1000);
        let token_of = || handles.token(made(pointer, &kind));
        let token = token_of();
        assert!(token.starts_with("db:") && token.len() == 35 && !token.contains("1000"));
        assert_eq!(token_of(), token);
        assert_eq!(handles.object(token.as_bytes(), "db", HandleUse::Shared).unwrap().pointer.addr(), 0x1000);
        assert!(
            handles.object(token.as_bytes(), "stmt", HandleUse::Shared).unwrap_err().contains("got one of type `db`")
        );
        assert!(handles.object(b"db:0", "db", HandleUse::Shared).unwrap_err().contains("never was one"));
        handles.close(token.as_bytes(), true);
        assert!(handles.object(token.as_bytes(), "db", HandleUse::Shared).is_err());
        assert_ne!(token_of(), token);
    }

    #[test]
    fn memory_reused_while_its_handle_closes_is_another_handle() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::default(), "db".into());
        let pointer = std::ptr::without_provenance_mut(0x1000);
        let token_of = || handles.token(made(pointer, &kind));
        let old = token_of();
        handles.object(old.as_bytes(), "db", HandleUse::Closes).unwrap();
        let new = token_of();
        assert_ne!(new, old);
        handles.close(old.as_bytes(), true);
        assert!(handles.object(old.as_bytes(), "db", HandleUse::Shared).is_err());
        assert_eq!(handles.object(new.as_bytes(), "db", HandleUse::Shared).unwrap().pointer.addr(), 0x1000);
        assert_eq!(token_of(), new);
    }

    #[test]
    fn what_another_call_uses_cannot_be_closed() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::new(true), "db".into());
        let token = handles.token(made(std::ptr::without_provenance_mut(0x1000), &kind));
        let close = || handles.object(token.as_bytes(), "db", HandleUse::Closes);
        for _ in 0..2 {
            handles.object(token.as_bytes(), "db", HandleUse::Shared).unwrap();
        }
        assert!(close().unwrap_err().contains("another call is using this one"));
        handles.release(token.as_bytes());
        assert!(close().is_err());
        handles.release(token.as_bytes());
        close().unwrap();
    }

    #[test]
    fn a_handle_whose_closing_failed_stays_open() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::default(), "db".into());
        let token = handles.token(made(std::ptr::without_provenance_mut(0x1000), &kind));
        handles.object(token.as_bytes(), "db", HandleUse::Closes).unwrap();
        assert!(
            handles.object(token.as_bytes(), "db", HandleUse::Shared).unwrap_err().contains("another call is closing")
        );
        handles.close(token.as_bytes(), false);
        handles.object(token.as_bytes(), "db", HandleUse::Shared).unwrap();
    }

    #[test]
    fn what_belongs_to_a_handle_ends_with_it() {
        let (handles, db, statement): (Handles, Arc<str>, Arc<str>) =
            (Handles::default(), "db".into(), "statement".into());
        let parent = handles.token(made(std::ptr::without_provenance_mut(0x1000), &db));
        let child =
            NewHandle { parent: Some(parent.as_bytes()), ..made(std::ptr::without_provenance_mut(0x2000), &statement) };
        let child = handles.token(child);
        let alias = handles.token(made(std::ptr::without_provenance_mut(0x1000), &statement));
        handles.object(parent.as_bytes(), "db", HandleUse::Closes).unwrap();
        handles.close(parent.as_bytes(), false);
        handles.object(child.as_bytes(), "statement", HandleUse::Shared).unwrap();
        handles.object(parent.as_bytes(), "db", HandleUse::Closes).unwrap();
        assert!(handles.object(child.as_bytes(), "statement", HandleUse::Shared).is_err());
        handles.close(parent.as_bytes(), true);
        for (token, kind) in [(&parent, "db"), (&child, "statement"), (&alias, "statement")] {
            assert!(
                handles.object(token.as_bytes(), kind, HandleUse::Shared).unwrap_err().contains("was closed"),
                "{token}"
            );
        }
        assert!(handles.is_empty());
    }

    #[test]
    fn a_parent_does_not_close_while_its_child_is_used() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::new(true), "db".into());
        let parent = handles.token(made(std::ptr::without_provenance_mut(0x1000), &kind));
        let child =
            NewHandle { parent: Some(parent.as_bytes()), ..made(std::ptr::without_provenance_mut(0x2000), &kind) };
        let child = handles.token(child);
        handles.object(child.as_bytes(), "db", HandleUse::Shared).unwrap();
        let refused = handles.object(parent.as_bytes(), "db", HandleUse::Closes).unwrap_err();
        assert!(refused.contains("another call is using one that ends with it"), "{refused}");
        handles.release(child.as_bytes());
        handles.object(parent.as_bytes(), "db", HandleUse::Closes).unwrap();
    }

    #[test]
    fn a_handle_whose_fields_a_call_writes_is_used_by_no_other() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::new(true), "stream".into());
        let token = handles.token(made(std::ptr::without_provenance_mut(0x1000), &kind));
        let take = |handle_use| handles.object(token.as_bytes(), "stream", handle_use).map(|_| ());
        take(HandleUse::Exclusive).unwrap();
        for other in [HandleUse::Shared, HandleUse::Exclusive, HandleUse::Closes] {
            assert!(take(other).unwrap_err().contains("another call is using this one"));
        }
        handles.release(token.as_bytes());
        take(HandleUse::Shared).unwrap();
        take(HandleUse::Shared).unwrap();
        assert!(take(HandleUse::Exclusive).is_err());
    }
}
