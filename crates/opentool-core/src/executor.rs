//! The one place where calls are run: [`Executor`].

mod admit;
mod arguments_check;
mod batch;
mod builder;
mod calling;
mod host;
mod interrupt;
mod job;
mod permits;
mod policies;
mod record;
mod settle;
mod span;
mod step;
mod wait;

pub use self::batch::Batch;
pub use self::builder::ExecutorBuilder;
pub use self::host::Host;
pub use self::policies::Executor;
