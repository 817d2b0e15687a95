//! The pointers that a library has handed out, and the tokens by which callers know them: [`Handles`].

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// So that a pointer which the library returns again is the same handle.
    by_pointer: HashMap<(usize, Arc<str>), String>,
}

#[derive(Debug)]
struct Handle {
    kind: Arc<str>,
    /// An address of the library, which callers never see.
    pointer: usize,
    /// Whether a call that may end it is running.
    closing: bool,
    /// How many other calls are running that were given it, which is known only where several run at the same time.
    users: usize,
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
    pub(crate) fn token(&self, pointer: *mut c_void, kind: &Arc<str>) -> String {
        let mut table = self.table();
        let key = (pointer.addr(), kind.clone());
        if let Some(token) = table.by_pointer.get(&key)
            && table.by_token.get(token).is_some_and(|handle| !handle.closing)
        {
            return token.clone();
        }
        // Where another call is just closing a handle of this pointer, the library has given the memory to a new object.
        let token = self.tokens.next(kind);
        table.by_token.insert(token.clone(), Handle { kind: kind.clone(), pointer: key.0, closing: false, users: 0 });
        table.by_pointer.insert(key, token.clone());
        token
    }

    /// The pointer that a token stands for; `closes` keeps others from using it until the call has ended.
    ///
    /// # Errors
    ///
    /// Where there is no such handle, or it is of another type: what is wrong with the token.
    pub(crate) fn pointer(&self, token: &[u8], kind: &str, closes: bool) -> Result<*mut c_void, String> {
        let mut table = self.table();
        let handle = std::str::from_utf8(token).ok().and_then(|token| table.by_token.get_mut(token));
        let Some(handle) = handle else {
            return Err(format!(
                "expected a handle of type `{kind}` that is open: this one was closed, went with a library that was started anew, or never was one"
            ));
        };
        if *handle.kind != *kind {
            return Err(format!("expected a handle of type `{kind}`, got one of type `{}`", handle.kind));
        }
        if handle.closing {
            return Err(format!("expected a handle of type `{kind}` that is open: another call is closing this one"));
        }
        if closes && handle.users > 0 {
            return Err(format!(
                "expected a handle of type `{kind}` that no call uses: another call is using this one"
            ));
        }
        handle.closing = closes;
        handle.users += usize::from(!closes && self.counts_users);
        // The library made this address and gets it back; it is not dereferenced here.
        Ok(std::ptr::with_exposed_provenance_mut(handle.pointer))
    }

    /// A call that used a handle has ended.
    pub(crate) fn release(&self, token: &[u8]) {
        if self.counts_users
            && let Ok(token) = std::str::from_utf8(token)
            && let Some(handle) = self.table().by_token.get_mut(token)
        {
            handle.users = handle.users.saturating_sub(1);
        }
    }

    /// Ends a handle, or leaves it open after a call that should have ended it and failed.
    pub(crate) fn close(&self, token: &[u8], closed: bool) {
        let mut table = self.table();
        let Ok(token) = std::str::from_utf8(token) else { return };
        if !closed {
            if let Some(handle) = table.by_token.get_mut(token) {
                handle.closing = false;
            }
            return;
        }
        if let Some(Handle { kind, pointer, .. }) = table.by_token.remove(token) {
            let key = (pointer, kind);
            if table.by_pointer.get(&key).is_some_and(|known| known == token) {
                table.by_pointer.remove(&key);
            }
        }
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

    #[test]
    fn a_handle_has_a_token_and_a_type_until_it_is_closed() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::default(), "db".into());
        let pointer = std::ptr::without_provenance_mut(0x1000);
        let token = handles.token(pointer, &kind);
        assert!(token.starts_with("db:") && token.len() == 35 && !token.contains("1000"));
        assert_eq!(handles.token(pointer, &kind), token);
        assert_eq!(handles.pointer(token.as_bytes(), "db", false).unwrap().addr(), 0x1000);
        assert!(handles.pointer(token.as_bytes(), "stmt", false).unwrap_err().contains("got one of type `db`"));
        assert!(handles.pointer(b"db:0", "db", false).unwrap_err().contains("never was one"));
        handles.close(token.as_bytes(), true);
        assert!(handles.pointer(token.as_bytes(), "db", false).is_err());
        assert_ne!(handles.token(pointer, &kind), token);
    }

    #[test]
    fn memory_reused_while_its_handle_closes_is_another_handle() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::default(), "db".into());
        let pointer = std::ptr::without_provenance_mut(0x1000);
        let old = handles.token(pointer, &kind);
        handles.pointer(old.as_bytes(), "db", true).unwrap();
        let new = handles.token(pointer, &kind);
        assert_ne!(new, old);
        handles.close(old.as_bytes(), true);
        assert!(handles.pointer(old.as_bytes(), "db", false).is_err());
        assert_eq!(handles.pointer(new.as_bytes(), "db", false).unwrap().addr(), 0x1000);
        assert_eq!(handles.token(pointer, &kind), new);
    }

    #[test]
    fn what_another_call_uses_cannot_be_closed() {
        let (handles, kind): (Handles, Arc<str>) = (Handles::new(true), "db".into());
        let token = handles.token(std::ptr::without_provenance_mut(0x1000), &kind);
        let close = || handles.pointer(token.as_bytes(), "db", true);
        for _ in 0..2 {
            handles.pointer(token.as_bytes(), "db", false).unwrap();
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
        let token = handles.token(std::ptr::without_provenance_mut(0x1000), &kind);
        handles.pointer(token.as_bytes(), "db", true).unwrap();
        assert!(handles.pointer(token.as_bytes(), "db", false).unwrap_err().contains("another call is closing"));
        handles.close(token.as_bytes(), false);
        handles.pointer(token.as_bytes(), "db", false).unwrap();
    }
}
