//! The result of checking a text, and findings from other sources that are added to it.

use super::{
    code::{Code, Severity},
    finding::Finding,
    foreign::ForeignFormat,
    kind::{DocumentGeneration, DocumentKind},
    position::TextPosition,
};
use crate::{
    json::pointer::tokens,
    tree::{Kind, NodeId, Tree, parse},
};

/// Long keys make long pointers: together they may not outgrow the text by more than this.
pub(super) const POINTERS: usize = 16;

/// What checking a text found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Which spec the document follows, by its shape; none where the text could not be read, or follows another format.
    pub kind: Option<DocumentKind>,
    /// Which other format the document follows; it is never edited.
    pub foreign: Option<ForeignFormat>,
    /// The oldest shape of parameters in it.
    pub generation: DocumentGeneration,
    /// What was found, in the order of the text.
    pub findings: Vec<Finding>,
    /// How many more there are of which only the number is known.
    pub omitted: Omitted,
}

/// Findings beyond those that a [`Report`] describes, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Omitted {
    /// How many errors.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
    /// How many notes.
    pub notes: usize,
}

impl Omitted {
    pub(super) fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }

    /// How many they are together.
    pub fn total(self) -> usize {
        self.errors + self.warnings + self.notes
    }
}

impl Report {
    /// How many findings are of this severity, described or not.
    pub fn count(&self, severity: Severity) -> usize {
        let described = self.findings.iter().filter(|finding| finding.severity == severity).count();
        described
            + match severity {
                Severity::Error => self.omitted.errors,
                Severity::Warning => self.omitted.warnings,
                Severity::Note => self.omitted.notes,
            }
    }

    /// Whether the document can be used.
    pub fn is_usable(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// Turns warnings into errors, so that a document passes only if every reader understands it.
    #[must_use]
    pub fn warnings_as_errors(mut self) -> Self {
        for finding in &mut self.findings {
            if finding.severity == Severity::Warning {
                finding.severity = Severity::Error;
            }
        }
        self.omitted.errors += std::mem::take(&mut self.omitted.warnings);
        self
    }
}

impl Report {
    /// The same findings with their places in another text; `offset` says where a byte of this one is there.
    pub(crate) fn moved_to(mut self, text: &str, offset: impl Fn(usize) -> usize) -> Self {
        for finding in &mut self.findings {
            let start = offset(finding.span.start);
            finding.span = start..offset(finding.span.end).max(start);
        }
        self.findings.sort_by_key(|finding| finding.span.start);
        let tree = parse(text).tree;
        let mut budget = POINTERS * text.len() + (1 << 20);
        let mut position = TextPosition::start(text);
        for finding in &mut self.findings {
            position.advance_to(finding.span.start);
            (finding.line, finding.column) = (position.line, position.column);
            if let Some(tree) = &tree {
                finding.pointer = tree.pointer_within(tree.node_at(finding.span.start), &mut budget);
            }
        }
        self
    }
}

/// A finding of something that sees more than the text, such as the library that the document describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalFinding {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// What kind of thing it is.
    pub code: Code,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Report {
    /// Adds findings from another source, each at its place in the text that was checked.
    ///
    /// A finding whose pointer leads nowhere is placed at the start of the document.
    ///
    /// ```
    /// use opentool_spec::{Code, ExternalFinding, check};
    ///
    /// let text = r#"{"opendyn": "1.0.0", "functions": [{"name": "sine"}]}"#;
    /// let pointer = "/functions/0/name".to_owned();
    /// let missing = ExternalFinding { pointer, code: Code::NotInLibrary, message: "there is no `sine`".to_owned(), help: None };
    /// let report = check(text).with_external_findings(text, [missing]);
    /// let found = report.findings.iter().find(|finding| finding.code == Code::NotInLibrary).unwrap();
    /// assert_eq!((found.line, found.column, &text[found.span.clone()]), (1, 45, r#""sine""#));
    /// ```
    #[must_use]
    pub fn with_external_findings(mut self, text: &str, found: impl IntoIterator<Item = ExternalFinding>) -> Self {
        let tree = parse(text).tree;
        let mut placed: Vec<_> = found
            .into_iter()
            .map(|finding| {
                let node = tree.as_ref().and_then(|tree| Some((tree, node_at(tree, &finding.pointer)?)));
                let span = node.map_or((0, 0), |(tree, node)| match tree.kind(node) {
                    kind if kind.is_container() => (tree.span(node).0, tree.span(node).0 + 1),
                    _ => tree.span(node),
                });
                (span, finding)
            })
            .collect();
        placed.sort_by_key(|(span, _)| *span);
        let mut position = TextPosition::start(text);
        for ((start, end), finding) in placed {
            position.advance_to(start);
            self.findings.push(Finding {
                code: finding.code,
                severity: finding.code.severity(),
                message: finding.message,
                pointer: finding.pointer,
                line: position.line,
                column: position.column,
                help: finding.help,
                fix: None,
                span: start..end,
            });
        }
        self.findings.sort_by_key(|finding| finding.span.start);
        self
    }
}

fn node_at(tree: &Tree<'_>, pointer: &str) -> Option<NodeId> {
    let mut node = Tree::ROOT;
    for step in tokens(pointer) {
        node = match tree.kind(node) {
            Kind::Array => tree.children(node).nth(step.parse().ok()?)?,
            _ => tree.get(node, &step)?,
        };
    }
    Some(node)
}
