//! The worker process: it loads the library, and does nothing but call it.
//!
//! The parent starts its own program again, or a configured one, with a mark on the command line. [`worker_main`]
//! recognises the mark, confines the process, loads the library, and answers calls until the parent closes the pipe.

mod calls;
mod process;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::calls::{ReplyWriter, RequestReader};
use self::process::Descriptors;
use crate::LoadError;
use crate::closure;
use crate::engine::Engine;
use crate::plan::Plan;
use crate::protocol::{HelloMessage, MARK, REPLIES, REQUESTS, ReadyMessage, ReplyKind};
use crate::sandbox::{self, ReplyPipe};
use crate::shared_page::SharedPage;

/// Whether this program can be started again as a worker.
static IS_ENTRY: AtomicBool = AtomicBool::new(false);

/// Runs the worker and never returns, if this process was started as one; otherwise returns at once.
///
/// It calls [`opentool_child::reaper_main`] too, so that a program needs no other call for the MCP servers that it starts.
///
/// A program that opens libraries calls it first thing in its `main`, before it reads its arguments, starts threads or
/// opens files, so that it can be started again as the worker:
///
/// ```no_run
/// fn main() {
///     opentool_dyn::worker_main();
///     // the program itself
/// }
/// ```
#[expect(clippy::needless_doctest_main, reason = "that it is called in `main` is the point")]
pub fn worker_main() {
    opentool_child::reaper_main();
    IS_ENTRY.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != MARK) {
        return;
    }
    let parent = arguments.next().and_then(|number| number.to_str()?.parse().ok());
    let code = match parent.map(run) {
        Some(Ok(())) => 0,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            1
        }
        None => {
            eprintln!("error: a worker is started by opentool, not by hand");
            2
        }
    };
    std::process::exit(code);
}

/// Whether [`worker_main`] was called in this process, so that the program can be started again as a worker.
pub(crate) fn is_entry() -> bool {
    IS_ENTRY.load(Ordering::Relaxed)
}

/// Runs a worker from start to end.
fn run(parent: i32) -> io::Result<()> {
    if opentool_child::die_with(parent).is_err() {
        return Ok(());
    }
    let Descriptors { requests, replies, page: fd } = process::take_descriptors()?;
    let page: &'static SharedPage = Box::leak(Box::new(SharedPage::map(&fd)?));
    drop(fd);
    let mut requests = RequestReader::new(requests);
    let Some((request, payload)) = requests.next()? else { return Ok(()) };
    let hello: HelloMessage = serde_json::from_slice(requests.payload(payload)).map_err(io::Error::from)?;
    #[cfg(target_os = "linux")]
    if hello.permissions.allows_unsafe() {
        // What it starts must not outlive it. The parent must see the pipes close when the worker's are closed.
        let shared = [0, 1, 2, REQUESTS, REPLIES, crate::protocol::PAGE];
        opentool_child::split(parent, std::time::Duration::ZERO, &shared)?;
    }
    let key = RandomState::new().hash_one(parent) as u32;
    let replies = ReplyWriter::new(replies, key);
    match load(&hello, page, ReplyPipe { fd: REPLIES, key }) {
        Ok((plan, engine, ready)) => {
            let ready = serde_json::to_vec(&ready).map_err(io::Error::from)?;
            replies.send(ReplyKind::Ready, 0, request, &ready)?;
            calls::serve(&plan, &engine, requests, &replies, page)
        }
        Err(error) => replies.send(ReplyKind::NotLoaded, 0, request, error.message.as_bytes()),
    }
}

fn load(
    hello: &HelloMessage,
    page: &'static SharedPage,
    replies: ReplyPipe,
) -> Result<(Arc<Plan>, Engine, ReadyMessage), LoadError> {
    let plan = Plan::parse(&hello.document).map_err(|error| LoadError::new(&hello.library, error.to_string()))?;
    let plan = Arc::new(plan);
    if plan.has_callbacks() {
        // libffi reads what the sandbox hides, once.
        closure::warm_up();
    }
    let confinement = sandbox::confine(&hello.permissions, &hello.library, page, &[REQUESTS, REPLIES], replies)
        .map_err(|reason| LoadError::new(&hello.library, reason))?;
    let engine = Engine::load(plan.clone(), &hello.library, hello.options)?;
    Ok((plan, engine, ReadyMessage { confinement }))
}
