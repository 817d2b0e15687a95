//! What a library exports, read from its file without loading it: [`Exports`].

mod error;
mod format;
mod nearest;
mod read;
mod symbol;
mod table;
#[cfg(test)]
mod tests;

pub use self::error::ExportsError;
pub use self::format::Format;
pub use self::symbol::{Export, ExportKind};
pub use self::table::Exports;
