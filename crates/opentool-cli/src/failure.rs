//! Why a command could not do its work.

use std::io;

use crate::terminal::visible;

/// What went wrong, and with what. All of these end the program with exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read {}: {}", visible(name), reason(source))]
    Read { name: String, source: io::Error },
    #[error("cannot write to standard output: {}", reason(source))]
    Output { source: io::Error },
    #[error("cannot write {}: {}", visible(name), reason(source))]
    Write { name: String, source: io::Error },
    #[error("{} is a folder: give one file", visible(name))]
    Folder { name: String },
    #[error("{} is not UTF-8 from byte {at} on: save the file as UTF-8", visible(name))]
    NotText { name: String, at: usize },
    #[error("standard input cannot be written back: use `-o FILE`, or `-o -` for standard output")]
    WriteBackToStandardInput,
}

impl Failure {
    /// A failure to write what a command has to say.
    pub(crate) fn output(source: io::Error) -> Self {
        Failure::Output { source }
    }
}

/// The system's words without its numbers, which help nobody.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = plain.chars();
    match chars.next() {
        // An acronym keeps its case.
        Some(first) if chars.clone().next().is_none_or(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => plain.to_owned(),
    }
}
