//! What checking a document finds.

use std::fmt;

use super::{
    code::{Code, Severity},
    kind::DocumentKind,
};
use crate::tree::Edit;

/// One thing that was found in a document.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing it is.
    pub code: Code,
    /// How serious it is.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub message: String,
    /// Where, as a JSON pointer: the value that is wrong, or the object that lacks something.
    pub pointer: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What to do about it.
    pub help: Option<String>,
    /// The change that does it.
    pub fix: Option<Fix>,
    /// The byte range it is about.
    #[serde(skip)]
    pub span: std::ops::Range<usize>,
}

/// A change of the text that fixes a finding.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Fix {
    /// Whether it can be made without asking; otherwise it holds a placeholder that its author should replace.
    pub automatic: bool,
    /// The changes, all of which belong together.
    pub edits: Vec<Edit>,
}

impl Finding {
    /// A document of the one kind, where the other was wanted.
    pub(crate) fn wrong_kind(wanted: DocumentKind, found: DocumentKind) -> Self {
        Finding {
            code: Code::MissingField,
            severity: Severity::Error,
            message: format!("this is an {found} document, not an {wanted} one: it has no `{}`", wanted.key()),
            pointer: String::new(),
            line: 1,
            column: 1,
            help: None,
            fix: None,
            span: 0..0,
        }
    }

    /// Whether [`fix`](crate::fix()) fixes it.
    pub fn is_fixable(&self) -> bool {
        self.fix.as_ref().is_some_and(|fix| fix.automatic)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}[{}]: {}", self.line, self.column, self.severity, self.code, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// The reason why a text could not be read as a document: all its errors, one a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DocumentErrors(pub(crate) Vec<Finding>);

impl DocumentErrors {
    /// The errors, in the order of the text.
    pub fn findings(&self) -> &[Finding] {
        &self.0
    }
}

impl fmt::Display for DocumentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        for (index, finding) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{finding}")?;
        }
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n… and {more} more"),
        }
    }
}
