//! What a conversation remembers: [`ChatMemory`].

mod chat_memory;
mod error;
mod in_process;
#[cfg(feature = "sqlite")]
mod sqlite;
mod token_window;
mod window;

pub use self::chat_memory::ChatMemory;
pub use self::error::MemoryError;
pub use self::in_process::InProcessMemory;
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteMemory;
pub use self::token_window::{TokenWindow, estimate_tokens};
pub use self::window::{WINDOW, window};
