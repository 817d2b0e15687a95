//! OpenDyn: the functions of a C library as tools, without a line of code.
//!
//! A document says what the functions of a library take and return; [`DynLibrary::open`] joins it with the library, and
//! every function becomes a tool.
//!
//! ```no_run
//! use opentool_core::Executor;
//! use opentool_dyn::DynLibrary;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let math = DynLibrary::open("libm.opendyn.json", "libm.so.6")?;
//! let host = Executor::new().host(math);
//! assert_eq!(host.call("cos", r#"{"x": 0}"#).await?.to_text(), r#"{"cosine":1.0}"#);
//! # Ok(())
//! # }
//! ```
//!
//! # How a call runs
//!
//! A `Plan` is made of the document once, without the library: how each argument is read, passed and returned. It
//! refuses what cannot be called, function by function. An `Engine` joins a plan with the loaded library and calls it.
//! By default that is in a worker process ([`Isolation::Process`]), so that a library that crashes, hangs or exits
//! fails only the call; for a trusted library it may be in this process ([`Isolation::None`]).
//!
//! # Where documents come from
//!
//! The crate `opentool-describe` writes them from what a library exports and its headers declare. [`Exports`] lists what a
//! library has, and [`uncallable`] which functions of a document it lacks; neither loads it.

mod arguments;
mod closure;
#[cfg(unix)]
mod denial;
mod document_fault;
mod encoding;
mod engine;
mod error;
mod exports;
mod find;
#[cfg(unix)]
mod floating_point;
mod frame;
mod guarded_pages;
mod heap;
mod library;
mod machine_type;
mod memory;
mod permissions;
mod plan;
#[cfg(unix)]
mod protocol;
mod result_size;
mod sandbox;
mod serial;
#[cfg(unix)]
mod shared_page;
#[cfg(unix)]
mod spin;
#[cfg_attr(not(unix), path = "supervisor/unsupported.rs")]
mod supervisor;
mod symbols;
mod tool;
mod uncallable;
#[cfg_attr(not(unix), path = "worker/unsupported.rs")]
mod worker;
mod workers;

pub use document_fault::{DocumentFault, document_faults};
pub use error::{LoadError, OpenError};
pub use exports::{Export, ExportKind, Exports, ExportsError, Format};
pub use find::{FindError, find_library};
pub use heap::return_large_blocks;
pub use library::{DynLibrary, DynLibraryBuilder, Isolation};
pub use permissions::{MemorySize, PermissionError, Permissions};
pub use sandbox::Confinement;
pub use supervisor::WorkerSharing;
pub use uncallable::{Uncallable, uncallable};
pub use worker::worker_main;

/// The sample of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
