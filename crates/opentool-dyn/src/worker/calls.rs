//! The worker's loop: read a request, call the function, write the reply.

use std::io::{self, PipeReader, PipeWriter};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use opentool_core::{ErrorKind, ToolError};
use serde_json::value::RawValue;

use super::process;
use crate::denial::{Denial, READ_HINT, SPAWN_HINT};
use crate::engine::{Engine, Notes, last_errno};
use crate::floating_point;
use crate::plan::Plan;
use crate::protocol::{HEADER, LONGEST_REPLY, LONGEST_REQUEST, Reply, ReplyKind, Request};
use crate::shared_page::SharedPage;
use crate::spin::Spinner;

/// The stack of a thread that calls the library: the usual size for C code.
const STACK: usize = 8 << 20;

/// Beyond this, memory that one long call needed is freed after it.
const KEPT: usize = 1 << 20;

/// How much is read at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// A result that is copied behind its header, rather than written by itself.
const SHORT: usize = 16 << 10;

/// Reads requests from the pipe.
#[derive(Debug)]
pub(super) struct RequestReader {
    requests: PipeReader,
    /// What one read gets.
    chunk: Box<[u8]>,
    buffer: Vec<u8>,
    /// Where the next request begins.
    next: usize,
    spinner: Spinner,
}

impl RequestReader {
    pub(super) fn new(requests: PipeReader) -> Self {
        RequestReader {
            requests,
            chunk: vec![0; CHUNK].into(),
            buffer: Vec::new(),
            next: 0,
            spinner: Spinner::default(),
        }
    }

    /// Waits for a request and says where its payload is; none where the parent has closed the pipe.
    pub(super) fn next(&mut self) -> io::Result<Option<(Request, Range<usize>)>> {
        loop {
            let rest = self.buffer.get(self.next..).unwrap_or_default();
            match Request::read(rest) {
                Ok(Some((request, payload))) => {
                    let payload = self.next + payload.start..self.next + payload.end;
                    self.next = payload.end;
                    return Ok(Some((request, payload)));
                }
                Ok(None) => {}
                Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the requests are malformed")),
            }
            self.make_room();
            match process::read(&self.requests, &mut self.chunk, &mut self.spinner)? {
                0 => return Ok(None),
                read => self.buffer.extend_from_slice(&self.chunk[..read]),
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
            let length = (u32::from_le_bytes(*length) as usize).min(LONGEST_REQUEST);
            self.buffer.reserve((HEADER + length).saturating_sub(self.buffer.len()));
        }
    }
}

/// Writes replies to the pipe.
#[derive(Debug)]
pub(super) struct ReplyWriter {
    replies: PipeWriter,
    /// What each write carries, so that the sandbox lets it pass.
    key: u32,
    /// What is written at once. It is locked for the whole of a reply, which may be longer than a pipe holds.
    frame: Mutex<Vec<u8>>,
}

impl ReplyWriter {
    pub(super) fn new(replies: PipeWriter, key: u32) -> Self {
        ReplyWriter { replies, key, frame: Mutex::default() }
    }

    pub(super) fn send(&self, kind: ReplyKind, notes: u8, request: Request, payload: &[u8]) -> io::Result<()> {
        let header = Reply { kind, notes, nonce: request.nonce, id: request.id }.header(payload);
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        frame.clear();
        frame.extend_from_slice(&header);
        // Copying a short payload is faster than a second system call (`cargo bench -p opentool-dyn --bench isolated`).
        let whole = payload.len() <= SHORT;
        if whole {
            frame.extend_from_slice(payload);
        }
        process::write(&self.replies, self.key, &frame)?;
        if whole { Ok(()) } else { process::write(&self.replies, self.key, payload) }
    }
}

/// Answers calls until the parent closes the pipe.
pub(super) fn serve(
    plan: &Plan,
    engine: &Engine,
    mut requests: RequestReader,
    replies: &ReplyWriter,
    page: &SharedPage,
) -> io::Result<()> {
    let dispatcher = Dispatcher { plan, engine, replies, page };
    if plan.thread_safe {
        return dispatcher.serve_with_threads(requests);
    }
    let mut out = Vec::new();
    while let Some((request, payload)) = requests.next()? {
        dispatcher.answer(request, requests.payload(payload), &mut out)?;
    }
    Ok(())
}

/// Answers requests with calls of the library.
#[derive(Clone, Copy)]
struct Dispatcher<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    replies: &'a ReplyWriter,
    page: &'a SharedPage,
}

impl Dispatcher<'_> {
    /// Answers requests in several threads. A free thread reads the next request itself, which saves a change of threads
    /// (`cargo bench -p opentool-dyn --bench isolated`).
    fn serve_with_threads(self, requests: RequestReader) -> io::Result<()> {
        let (requests, idle, count) = (Mutex::new(requests), AtomicUsize::new(0), AtomicUsize::new(1));
        thread::scope(|scope| self.serve_in_thread(scope, &requests, &idle, &count))
    }

    fn serve_in_thread<'scope, 'env: 'scope>(
        self,
        scope: &'scope thread::Scope<'scope, 'env>,
        requests: &'env Mutex<RequestReader>,
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
                let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
                let next = requests.next()?;
                let Some((request, payload)) = next else { return Ok(()) };
                text.clear();
                text.extend_from_slice(requests.payload(payload));
                request
            };
            let others = idle.fetch_sub(1, Ordering::Relaxed) - 1;
            // Counted before it runs: one thread too many would answer a call whose turn it is not.
            let most = self.plan.max_concurrency();
            let add = |count: usize| (count < most).then_some(count + 1);
            if others == 0 && count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok() {
                let work = move || {
                    if self.serve_in_thread(scope, requests, idle, count).is_err() {
                        // The pipes are closed, so the parent cannot be reached.
                        std::process::exit(1);
                    }
                };
                // Where no thread can be started, the existing ones do the work.
                if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                    count.fetch_sub(1, Ordering::Relaxed);
                }
            }
            self.answer(request, &text, &mut out)?;
            text.shrink_to(KEPT);
        }
    }

    fn answer(self, request: Request, text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let id = request.id;
        self.page.clear_denial();
        Denial::record_for_thread(0);
        if !self.page.begin(id) {
            return self.replies.send(ReplyKind::Skipped, 0, request, &[]);
        }
        let called = self.call(request.function as usize, text, out);
        if !self.page.has_begun(id) {
            self.replies.send(ReplyKind::Damaged, 0, request, &[])?;
            // No other call may run here: the parent ends this process.
            loop {
                thread::park();
            }
        }
        let kept = if self.engine.has_handles() { Notes::HANDLES } else { Notes::default() };
        match called {
            Ok(notes) => self.replies.send(ReplyKind::Result, notes.with(kept).bits(), request, out)?,
            Err(error) => {
                let mut error = serde_json::to_vec(&error).map_err(io::Error::from)?;
                if error.len() > LONGEST_REPLY {
                    let name =
                        self.plan.functions.get(request.function as usize).map_or("?", |function| &function.name);
                    let shorter = ToolError::failed(format!("`{name}` failed, and its error is too long"));
                    error = serde_json::to_vec(&shorter).map_err(io::Error::from)?;
                }
                self.replies.send(ReplyKind::Error, kept.bits(), request, &error)?;
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
        floating_point::restore();
        let called = called.unwrap_or_else(|_| Err(ToolError::panicked(format!("the worker panicked in `{name}`"))));
        let last = self.page.last_denial();
        // What another thread of the library was denied may be unrelated to this call; where calls run concurrently, it may
        // belong to another one.
        let denial = Denial::of_thread(&last).or(last.filter(|_| !self.plan.thread_safe).map(Denial::softened));
        let denial = denial.or_else(|| Denial::from_errno(last_errno()));
        match called {
            Ok(_) if out.len() > LONGEST_REPLY => {
                Err(ToolError::invalid_result(format!("`{name}` gave {} bytes, which is too much", out.len())))
            }
            Ok(notes) => match denial {
                None => Ok(notes),
                // It went on without, so its result counts.
                Some(denial) if denial.soft => Ok(notes.with(Notes::DENIED)),
                Some(denial) => {
                    let error = ToolError::denied(format!("`{name}` was refused something: {}", denial.hint()));
                    // The result may still help to find out what happened.
                    let result = String::from_utf8_lossy(out).into_owned();
                    let result =
                        RawValue::from_string(result).ok().and_then(|result| serde_json::to_value(result).ok());
                    Err(match result {
                        Some(result) => error.with_data(serde_json::json!({ "result": result })),
                        None => error,
                    })
                }
            },
            // Any other kind means that the function was not called, or is not the cause.
            Err(error) if error.kind() != ErrorKind::Failed => Err(error),
            Err(error) => {
                let hint = match denial {
                    Some(denial) => denial.hint(),
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
