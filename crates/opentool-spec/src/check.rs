//! Judging documents: every fault in one run, each with its place, what to do, and where possible the change that does it.

mod code;
mod draft;
mod dynamic;
mod extensions;
mod finding;
mod functions;
mod generations;
mod handles;
mod judge;
mod references;
mod remark;
mod schemas;
mod spelling;
mod suggest;

pub use code::{Code, Severity};
pub use finding::{DocumentErrors, Edit, Finding, Fix};
pub use functions::is_valid_name;
pub use judge::DocumentKind;
pub(crate) use judge::is_one_point_x;
pub use remark::ExternalFinding;
pub(crate) use suggest::quote;

use draft::Draft;
use judge::Checker;

use crate::tree::{FaultKind, Parsed, SyntaxFault, Tree, parse};

/// Which shape a document's parameters have. All three say `"1.0.0"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub enum DocumentGeneration {
    /// Parameters as a JSON Schema.
    A,
    /// Parameters as an object by name, and `returns`.
    B,
    /// Lists and `return`: what the specs say.
    C,
}

/// What checking a text found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Which spec the document follows, by its shape; none where the text could not be read.
    pub kind: Option<DocumentKind>,
    /// The oldest shape of parameters in it.
    pub generation: DocumentGeneration,
    /// Everything that was found, in the order of the text.
    pub findings: Vec<Finding>,
}

impl Report {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Whether the document can be used.
    pub fn is_usable(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// Turns warnings into errors, for those who want no other readers to stumble.
    #[must_use]
    pub fn strict(mut self) -> Self {
        for finding in &mut self.findings {
            if finding.severity == Severity::Warning {
                finding.severity = Severity::Error;
            }
        }
        self
    }
}

/// Checks a document of any kind.
///
/// ```
/// use opentool_spec::{Code, check};
///
/// let report = check(r#"{"opentool": "1.1.0", "info": {"title": "Empty"}, "functions": []}"#);
/// let found: Vec<_> = report.findings.iter().map(|finding| (finding.code, finding.pointer.as_str())).collect();
/// assert_eq!(found, [(Code::MissingField, "/info"), (Code::NoFunctions, "/functions")]);
/// ```
pub fn check(text: &str) -> Report {
    Examined::new(text).report()
}

/// Checks a document of any kind in a file's bytes, which may not even be text.
pub fn check_bytes(bytes: &[u8]) -> Report {
    match std::str::from_utf8(bytes) {
        Ok(text) => check(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = memchr::memchr_iter(b'\n', valid.as_bytes()).count() + 1;
            let column = valid[valid.rfind('\n').map_or(0, |newline| newline + 1)..].chars().count() + 1;
            let finding = Finding {
                code: Code::NotJson,
                severity: Code::NotJson.severity(),
                message: format!("the byte 0x{:02x} here is not UTF-8", bytes[error.valid_up_to()]),
                pointer: String::new(),
                line,
                column,
                help: Some("save the file as UTF-8".to_owned()),
                fix: None,
                span: error.valid_up_to()..error.valid_up_to() + 1,
            };
            Report { kind: None, generation: DocumentGeneration::C, findings: vec![finding] }
        }
    }
}

/// A text with what was found in it, before pointers, lines and columns are worked out.
#[derive(Debug)]
pub(crate) struct Examined<'a> {
    text: &'a str,
    pub(crate) tree: Option<Tree<'a>>,
    pub(crate) kind: Option<DocumentKind>,
    pub(crate) generation: DocumentGeneration,
    drafts: Vec<Draft>,
}

impl<'a> Examined<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let Parsed { tree, faults } = parse(text);
        let mut examined = Examined { text, tree, kind: None, generation: DocumentGeneration::C, drafts: Vec::new() };
        if let Some(tree) = &examined.tree {
            let judge = Checker::run(tree);
            examined.kind = Some(judge.kind);
            examined.generation = judge.generation;
            examined.drafts = judge.drafts;
        }
        let has_tree = examined.tree.is_some();
        examined.drafts.extend(faults.into_iter().map(|fault| draft_of(fault, has_tree)));
        examined.drafts.sort_by_key(|draft| (draft.span, draft.code));
        examined
    }

    /// The fixes, in the order of the text, that `wanted` lets through.
    pub(crate) fn fixes(&self, wanted: impl Fn(Code, &Fix) -> bool) -> impl Iterator<Item = &Fix> {
        self.drafts.iter().filter_map(move |draft| draft.fix.as_ref().filter(|fix| wanted(draft.code, fix)))
    }

    /// Works out where everything stands.
    pub(crate) fn report(self) -> Report {
        // Long keys make long pointers: together they may not outgrow the text by much.
        let mut budget = 16 * self.text.len() + (1 << 20);
        let mut findings = Vec::with_capacity(self.drafts.len());
        let mut place = Place { text: self.text, at: 0, line: 1, column: 1 };
        for draft in self.drafts {
            place.advance_to(draft.span.0);
            let pointer = self.tree.as_ref().map(|tree| tree.pointer_within(draft.node, &mut budget));
            findings.push(Finding {
                code: draft.code,
                severity: draft.code.severity(),
                message: draft.message,
                pointer: pointer.unwrap_or_default(),
                line: place.line,
                column: place.column,
                help: draft.help,
                fix: draft.fix,
                span: draft.span.0..draft.span.1,
            });
        }
        Report { kind: self.kind, generation: self.generation, findings }
    }
}

fn draft_of(fault: SyntaxFault, has_tree: bool) -> Draft {
    let code = match fault.kind {
        FaultKind::NotJson => Code::NotJson,
        FaultKind::TooDeep => Code::TooDeep,
        FaultKind::DuplicateKey => Code::DuplicateKey,
        FaultKind::NumberTooLarge => Code::NumberTooLarge,
        FaultKind::NumberRounded => Code::NumberRounded,
        FaultKind::ByteOrderMark => Code::ByteOrderMark,
    };
    Draft {
        code,
        span: fault.span,
        node: fault.within.filter(|_| has_tree).unwrap_or(Tree::ROOT),
        message: fault.message,
        help: fault.help,
        fix: fault.edit.map(|edit| Fix { automatic: true, edits: vec![edit] }),
    }
}

/// A place that moves forward through a text, so that all lines and columns cost one pass.
struct Place<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
}

impl Place<'_> {
    fn advance_to(&mut self, at: usize) {
        let passed = &self.text[self.at..at];
        self.line += memchr::memchr_iter(b'\n', passed.as_bytes()).count();
        match passed.rfind('\n') {
            Some(newline) => self.column = passed[newline + 1..].chars().count() + 1,
            None => self.column += passed.chars().count(),
        }
        if self.at == 0 && passed.starts_with('\u{feff}') && self.line == 1 {
            self.column -= 1; // editors do not count the mark
        }
        self.at = at;
    }
}

#[cfg(test)]
mod tests;
