//! What others find in a document who see more than its text.

use super::{Code, Finding, Place, Report};
use crate::tree::{Kind, NodeId, Tree, parse};

/// Something that is wrong with a document by the word of somebody who sees more than its text, such as the library that it
/// describes.
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
    /// Adds remarks, each at its place in the text that the report is about.
    ///
    /// One whose pointer leads nowhere is about the whole.
    ///
    /// ```
    /// use opentool_spec::{Code, ExternalFinding, check};
    ///
    /// let text = r#"{"opendyn": "1.0.0", "functions": [{"name": "sine"}]}"#;
    /// let pointer = "/functions/0/name".to_owned();
    /// let remark = ExternalFinding { pointer, code: Code::NotInLibrary, message: "there is no `sine`".to_owned(), help: None };
    /// let report = check(text).with_external_findings(text, [remark]);
    /// let found = report.findings.iter().find(|finding| finding.code == Code::NotInLibrary).unwrap();
    /// assert_eq!((found.line, found.column, &text[found.span.clone()]), (1, 45, r#""sine""#));
    /// ```
    #[must_use]
    pub fn with_external_findings(mut self, text: &str, remarks: impl IntoIterator<Item = ExternalFinding>) -> Self {
        let tree = parse(text).tree;
        let mut placed: Vec<_> = remarks
            .into_iter()
            .map(|remark| {
                let node = tree.as_ref().and_then(|tree| Some((tree, node_at(tree, &remark.pointer)?)));
                let span = node.map_or((0, 0), |(tree, node)| match tree.kind(node) {
                    kind if kind.is_container() => (tree.span(node).0, tree.span(node).0 + 1),
                    _ => tree.span(node),
                });
                (span, remark)
            })
            .collect();
        placed.sort_by_key(|(span, _)| *span);
        let mut place = Place { text, at: 0, line: 1, column: 1 };
        for ((start, end), remark) in placed {
            place.advance_to(start);
            self.findings.push(Finding {
                code: remark.code,
                severity: remark.code.severity(),
                message: remark.message,
                pointer: remark.pointer,
                line: place.line,
                column: place.column,
                help: remark.help,
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
    for step in crate::json::pointer::tokens(pointer) {
        node = match tree.kind(node) {
            Kind::Array => tree.children(node).nth(step.parse().ok()?)?,
            _ => tree.get(node, &step)?,
        };
    }
    Some(node)
}
