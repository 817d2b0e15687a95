//! OpenDyn: the functions of a C library as tools, without a line of code.
//!
//! A document says what the functions of a library take and give; [`DynLibrary::open`] joins it with the library, and
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
//! A `Plan` is made of the document once, without the library: how each argument is read, passed and given back. It
//! refuses what cannot be called, function by function. An `Engine` joins a plan with the loaded library and calls it.
//! By default it does so in a worker process ([`Isolation::Process`]), so that a library that crashes, hangs or exits
//! takes nothing down but the call; for a trusted library it may do so right here ([`Isolation::None`]).
//!
//! # Where documents come from
//!
//! The crate `opentool-describe` writes them from what a library exports and its headers declare. [`Exports`] lists what a
//! library has, and [`uncallable`] which functions of a document it lacks; neither loads it.

mod arguments;
mod encoding;
mod engine;
mod error;
mod exports;
mod find;
mod frame;
mod library;
#[cfg(unix)]
mod lookout;
mod permissions;
mod plan;
mod sandbox;
#[cfg_attr(not(unix), path = "supervisor/elsewhere.rs")]
mod supervisor;
mod symbols;
mod tool;
mod turn;
mod uncallable;
#[cfg_attr(not(unix), path = "worker/elsewhere.rs")]
mod worker;

pub use error::{LoadError, OpenError};
pub use exports::{Export, ExportKind, Exports, ExportsError, Format};
pub use find::{FindError, find_library};
pub use library::{DynLibrary, DynLibraryBuilder, Isolation};
pub use permissions::{MemorySize, PermissionError, Permissions};
pub use sandbox::Confinement;
pub use uncallable::{Uncallable, uncallable};
pub use worker::worker_main;
