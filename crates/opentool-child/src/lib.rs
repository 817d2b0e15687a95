//! Child processes that end when their program does, however it ends, together with all that they started.
//!
//! A program that is killed by SIGKILL cannot end its children. So a reaper stands between them: a process that runs no
//! foreign code, inherits every process below it that loses its parent, watches the program, and kills all that is below it
//! when the program or the child ends.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! opentool_child::reaper_main();
//! if let Some(mut command) = opentool_child::reaped_command("sh", std::time::Duration::from_secs(2)) {
//!     command.args(["-c", "sleep 600 & sleep 600"]).spawn()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Reapers need Linux. Elsewhere [`reaped_command`] returns nothing.

#[cfg(unix)]
mod parent;
#[cfg(target_os = "linux")]
mod reaper;
#[cfg(target_os = "linux")]
mod reexec;
mod start;

#[cfg(unix)]
pub use parent::{ParentIsGone, die_with};
#[cfg(target_os = "linux")]
pub use reaper::split;
pub use start::{reaped_command, reaper_main};

/// The sample of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
