//! What the text of a header says about its prototypes.

mod comment;
mod lines;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) use self::comment::{Comment, ParameterComment};
use self::lines::Lines;

/// The comments of headers, read when they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    files: HashMap<PathBuf, Lines>,
}

impl Comments {
    /// The comment about what stands on some lines of a file, counted from one.
    pub(crate) fn about(&mut self, file: &Path, first: usize, last: usize) -> Option<Comment> {
        if !self.files.contains_key(file) {
            let text = std::fs::read(file).unwrap_or_default();
            self.files.insert(file.to_owned(), Lines::read(&String::from_utf8_lossy(&text)));
        }
        let lines = self.files.get(file)?;
        let mut comment = lines.about(first, last).unwrap_or_default();
        lines.parameters(first, last, &mut comment);
        (comment != Comment::default()).then_some(comment)
    }
}
