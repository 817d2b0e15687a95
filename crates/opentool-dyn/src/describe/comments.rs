//! What the text of a header says about its prototypes.

mod lines;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::lines::Lines;

/// What a comment says about a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) text: String,
    pub(super) parameters: HashMap<String, OfParameter>,
    pub(super) returns: Option<String>,
    /// Whether it stands above another function, which this one follows.
    pub(super) is_shared: bool,
}

/// What a comment says about a parameter (`@param[out] length How much was written.`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OfParameter {
    pub(super) text: String,
    /// Whether data goes in and out, where it is said.
    pub(super) direction: Option<(bool, bool)>,
}

/// The comments of headers, read when they are asked for.
#[derive(Debug, Default)]
pub(super) struct Comments {
    files: HashMap<PathBuf, Lines>,
}

impl Comments {
    /// The comment about what stands on some lines of a file, counted from one.
    pub(super) fn about(&mut self, file: &Path, first: usize, last: usize) -> Option<Comment> {
        if !self.files.contains_key(file) {
            let text = std::fs::read(file).unwrap_or_default();
            self.files.insert(file.to_owned(), Lines::of(&String::from_utf8_lossy(&text)));
        }
        let lines = self.files.get(file)?;
        let mut comment = lines.about(first, last).unwrap_or_default();
        lines.parameters(first, last, &mut comment);
        (comment != Comment::default()).then_some(comment)
    }
}
