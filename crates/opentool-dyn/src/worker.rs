//! The worker process: it loads the library, and does nothing but call it.
//!
//! The parent starts its own program again, or one that it was told, with a mark on the command line. [`worker_main`]
//! recognises the mark, confines the process, loads the library, and answers calls until the parent closes the pipe.

mod board;
mod frame;
#[cfg(target_os = "linux")]
mod keeper;
mod process;
mod serve;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

pub(crate) use board::{Board, SLOTS, Stage, slot_of};
pub(crate) use frame::{Forged, Kind, LONGEST, Reply, Request};

use crate::engine::{Engine, Options};
use crate::plan::Plan;
use crate::sandbox::{self, Confinement};
use crate::{LoadError, Permissions};
use process::{Descriptors, ParentIsGone};
use serve::{Intake, Outlet};

/// The mark on the command line of a worker, since its environment is the operator's. The parent's number follows.
pub(crate) const MARK: &str = "--opentool-dyn-worker";

/// Where a worker finds its descriptors: beyond those that a library is likely to close or print into.
pub(crate) const REQUESTS: i32 = 64;
pub(crate) const REPLIES: i32 = 65;
pub(crate) const BOARD: i32 = 66;

/// Whether this program can be started again as a worker.
static IS_ENTRY: AtomicBool = AtomicBool::new(false);

/// What a worker is told first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// What every reply is to carry.
    pub(crate) nonce: u64,
    /// The text of the document.
    pub(crate) document: Arc<str>,
    pub(crate) library: PathBuf,
    pub(crate) options: Options,
    pub(crate) permissions: Permissions,
}

/// What a worker says once the library is loaded.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) confinement: Confinement,
}

/// Runs the worker and never returns, if this process was started as one; otherwise returns at once.
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

/// Does a worker's whole work.
fn run(parent: i32) -> io::Result<()> {
    if let Err(ParentIsGone) = process::die_with(parent) {
        return Ok(());
    }
    let Descriptors { requests, replies, board: page } = process::adopt()?;
    let board: &'static Board = Box::leak(Box::new(Board::of(&page)?));
    drop(page);
    let mut intake = Intake::new(requests);
    let Some((_, payload)) = intake.next()? else { return Ok(()) };
    let hello: Hello = serde_json::from_slice(intake.payload(payload)).map_err(io::Error::from)?;
    #[cfg(target_os = "linux")]
    if hello.permissions.allows_unsafe() {
        keeper::keep()?;
    }
    let outlet = Outlet::new(replies, hello.nonce);
    match load(&hello, board) {
        Ok((plan, engine, ready)) => {
            let ready = serde_json::to_vec(&ready).map_err(io::Error::from)?;
            outlet.send(Kind::Ready, 0, 0, &ready)?;
            serve::serve(&plan, &engine, intake, &outlet, board)
        }
        Err(error) => outlet.send(Kind::NotLoaded, 0, 0, error.message.as_bytes()),
    }
}

fn load(hello: &Hello, board: &'static Board) -> Result<(Arc<Plan>, Engine, Ready), LoadError> {
    let plan = Plan::of(&hello.document).map_err(|error| LoadError::new(&hello.library, error.to_string()))?;
    let plan = Arc::new(plan);
    let confinement = sandbox::confine(&hello.permissions, &hello.library, board, &[REQUESTS, REPLIES])
        .map_err(|reason| LoadError::new(&hello.library, reason))?;
    let engine = Engine::load(plan.clone(), &hello.library, hello.options)?;
    Ok((plan, engine, Ready { confinement }))
}
