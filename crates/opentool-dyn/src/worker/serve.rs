//! The worker's loop: read a call, make it, answer.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use opentool_core::{ErrorKind, ToolError};
use serde_json::value::RawValue;

use super::frame::{HEADER, Kind, Reply, Request};
use super::process;
use super::{Board, LONGEST};
use crate::engine::{Engine, Notes, last_errno};
use crate::lookout::Lookout;
use crate::plan::Plan;
use crate::sandbox::{READ_HINT, Refusal, SPAWN_HINT};

/// The stack of such a thread: as much as C code is used to.
const STACK: usize = 8 << 20;

/// Beyond this, memory that one long call needed is given back after it.
const KEPT: usize = 1 << 20;

/// A result that is copied behind its header, rather than written by itself.
const SHORT: usize = 16 << 10;

/// After so many requests that came alone, the next one is expected to.
const ALONE: u32 = 4;

/// Requests as they come out of the pipe.
#[derive(Debug)]
pub(super) struct Intake {
    requests: OwnedFd,
    buffer: Vec<u8>,
    /// Where the next request begins.
    next: usize,
    /// How many requests in a row were alone in what was read.
    alone: u32,
    lookout: Lookout,
}

impl Intake {
    pub(super) fn new(requests: OwnedFd) -> Self {
        Intake { requests, buffer: Vec::new(), next: 0, alone: 0, lookout: Lookout::default() }
    }

    /// Waits for a request and says where its payload is; none where the parent has closed the pipe.
    pub(super) fn next(&mut self) -> io::Result<Option<(Request, Range<usize>)>> {
        loop {
            let rest = self.buffer.get(self.next..).unwrap_or_default();
            match Request::read(rest) {
                Ok(Some((request, payload))) => {
                    let payload = self.next + payload.start..self.next + payload.end;
                    let alone = self.next == 0 && payload.end == self.buffer.len();
                    self.alone = if alone { self.alone.saturating_add(1) } else { 0 };
                    self.next = payload.end;
                    return Ok(Some((request, payload)));
                }
                Ok(None) => {}
                Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the requests make no sense")),
            }
            self.make_room();
            let alone = self.alone >= ALONE;
            if process::read(&self.requests, &mut self.buffer, &mut self.lookout, alone)? == 0 {
                return Ok(None);
            }
        }
    }

    pub(super) fn payload(&self, payload: Range<usize>) -> &[u8] {
        self.buffer.get(payload).unwrap_or_default()
    }

    /// Drops what was read and reserves what is announced.
    fn make_room(&mut self) {
        self.buffer.drain(..self.next);
        self.next = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        if let Some(length) = self.buffer.first_chunk::<4>() {
            let length = (u32::from_le_bytes(*length) as usize).min(LONGEST);
            self.buffer.reserve((HEADER + length).saturating_sub(self.buffer.len()));
        }
    }
}

/// Where replies go.
#[derive(Debug)]
pub(super) struct Outlet {
    replies: OwnedFd,
    nonce: u64,
    /// What is written at once. It is locked for the whole of a reply, which may be longer than what a pipe takes.
    frame: Mutex<Vec<u8>>,
}

impl Outlet {
    pub(super) fn new(replies: OwnedFd, nonce: u64) -> Self {
        Outlet { replies, nonce, frame: Mutex::default() }
    }

    pub(super) fn send(&self, kind: Kind, notes: u8, id: u64, payload: &[u8]) -> io::Result<()> {
        let header = Reply { kind, notes, nonce: self.nonce, id }.header(payload);
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        frame.clear();
        frame.extend_from_slice(&header);
        // Most replies are shorter than a second system call is long.
        let whole = payload.len() <= SHORT;
        if whole {
            frame.extend_from_slice(payload);
        }
        process::write(&self.replies, &frame)?;
        if whole { Ok(()) } else { process::write(&self.replies, payload) }
    }
}

/// Answers calls until the parent closes the pipe.
pub(super) fn serve(
    plan: &Plan,
    engine: &Engine,
    mut intake: Intake,
    outlet: &Outlet,
    board: &Board,
) -> io::Result<()> {
    let desk = Desk { plan, engine, outlet, board };
    if plan.thread_safe {
        return desk.serve_together(intake);
    }
    let mut out = Vec::new();
    while let Some((request, payload)) = intake.next()? {
        desk.answer(request, intake.payload(payload), &mut out)?;
    }
    Ok(())
}

/// What is needed to answer a call.
#[derive(Clone, Copy)]
struct Desk<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    outlet: &'a Outlet,
    board: &'a Board,
}

impl Desk<'_> {
    /// Answers calls in several threads. Whoever is free reads the next one itself, so that nothing is handed over.
    fn serve_together(self, intake: Intake) -> io::Result<()> {
        let (intake, idle, count) = (Mutex::new(intake), AtomicUsize::new(0), AtomicUsize::new(1));
        thread::scope(|scope| self.take_turns(scope, &intake, &idle, &count))
    }

    fn take_turns<'scope, 'env: 'scope>(
        self,
        scope: &'scope thread::Scope<'scope, 'env>,
        intake: &'env Mutex<Intake>,
        idle: &'env AtomicUsize,
        count: &'env AtomicUsize,
    ) -> io::Result<()>
    where
        Self: 'scope,
    {
        let (mut text, mut out) = (Vec::new(), Vec::new());
        loop {
            idle.fetch_add(1, Ordering::Relaxed);
            let request = {
                let mut intake = intake.lock().unwrap_or_else(PoisonError::into_inner);
                let next = intake.next()?;
                let Some((request, payload)) = next else { return Ok(()) };
                text.clear();
                text.extend_from_slice(intake.payload(payload));
                request
            };
            let others = idle.fetch_sub(1, Ordering::Relaxed) - 1;
            if others == 0 && count.load(Ordering::Relaxed) < self.plan.lanes() {
                let work = move || {
                    if self.take_turns(scope, intake, idle, count).is_err() {
                        // The pipes are gone, and with them whoever could be told.
                        std::process::exit(1);
                    }
                };
                // Where there is no thread to be had, those that are there do the work.
                if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_ok() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.answer(request, &text, &mut out)?;
            text.shrink_to(KEPT);
        }
    }

    fn answer(self, request: Request, text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let id = request.id;
        self.board.forget();
        Refusal::note_here(0);
        if !self.board.begin(id) {
            return self.outlet.send(Kind::Skipped, 0, id, &[]);
        }
        let called = self.call(request.function as usize, text, out);
        let kept = if self.engine.has_handles() { Notes::HANDLES } else { Notes::default() };
        match called {
            Ok(notes) => self.outlet.send(Kind::Result, notes.with(kept).bits(), id, out)?,
            Err(error) => {
                let error = serde_json::to_vec(&error).map_err(io::Error::from)?;
                self.outlet.send(Kind::Error, kept.bits(), id, &error)?;
            }
        }
        out.clear();
        out.shrink_to(KEPT);
        Ok(())
    }

    fn call(self, function: usize, text: &[u8], out: &mut Vec<u8>) -> Result<Notes, ToolError> {
        let Some(planned) = self.plan.functions.get(function) else {
            return Err(ToolError::failed(format!("the library has no function number {function}")));
        };
        let name = &planned.name;
        let text = std::str::from_utf8(text).map_err(ToolError::from_error)?;
        let called = catch_unwind(AssertUnwindSafe(|| self.engine.call(function, text, out)));
        let called = called.unwrap_or_else(|_| Err(ToolError::panicked(format!("the worker panicked in `{name}`"))));
        let noted = self.board.refused();
        // What another thread of the library was refused may have nothing to do with this call, and where calls run beside
        // each other, it may be another one's.
        let refusal =
            Refusal::of_this_thread(&noted).or(noted.filter(|_| !self.plan.thread_safe).map(Refusal::softened));
        let refusal = refusal.or_else(|| Refusal::of_errno(last_errno()));
        match called {
            Ok(_) if out.len() > LONGEST => {
                Err(ToolError::invalid_result(format!("`{name}` gave {} bytes, which is too much", out.len())))
            }
            Ok(notes) => match refusal {
                None => Ok(notes),
                // It went on, and what it gives may be as good as ever.
                Some(refusal) if refusal.soft => Ok(notes.with(Notes::REFUSED)),
                Some(refusal) => {
                    let error = ToolError::denied(format!("`{name}` was refused something: {}", refusal.hint()));
                    // What it made of the refusal may still tell somebody something.
                    let result = String::from_utf8_lossy(out).into_owned();
                    let result =
                        RawValue::from_string(result).ok().and_then(|result| serde_json::to_value(result).ok());
                    Err(match result {
                        Some(result) => error.with_data(serde_json::json!({ "result": result })),
                        None => error,
                    })
                }
            },
            // Whatever else went wrong, the function was not called, or not to blame.
            Err(error) if error.kind() != ErrorKind::Failed => Err(error),
            Err(error) => {
                let hint = match refusal {
                    Some(refusal) => refusal.hint(),
                    None => match last_errno() {
                        libc::EACCES | libc::EPERM => READ_HINT.to_owned(),
                        libc::ENOMEM => SPAWN_HINT.to_owned(),
                        _ => return Err(error),
                    },
                };
                let message = format!("{}; {hint}", error.message());
                Err(error.with_message(message))
            }
        }
    }
}
