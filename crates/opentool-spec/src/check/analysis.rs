//! Checking a text: parse, walk, and work out where every finding is.

use super::{
    code::Code,
    document::check_tree,
    draft::Draft,
    finding::{Finding, Fix},
    kind::{DocumentGeneration, DocumentKind},
    position::TextPosition,
    report::Report,
};
use crate::tree::{FaultKind, Parsed, SyntaxFault, Tree, parse};

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
    Analysis::new(text).report()
}

/// Checks a document of any kind in the bytes of a file, which may not be UTF-8.
pub fn check_bytes(bytes: &[u8]) -> Report {
    match std::str::from_utf8(bytes) {
        Ok(text) => check(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let mut position = TextPosition::start(&valid);
            position.advance_to(valid.len());
            let finding = Finding {
                code: Code::NotJson,
                severity: Code::NotJson.severity(),
                message: format!("the byte 0x{:02x} here is not UTF-8", bytes[error.valid_up_to()]),
                pointer: String::new(),
                line: position.line,
                column: position.column,
                help: Some("save the file as UTF-8".to_owned()),
                fix: None,
                span: error.valid_up_to()..error.valid_up_to() + 1,
            };
            Report { kind: None, generation: DocumentGeneration::C, findings: vec![finding] }
        }
    }
}

/// A checked text, before the pointers, lines and columns of its findings are worked out.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    text: &'a str,
    pub(crate) tree: Option<Tree<'a>>,
    pub(crate) kind: Option<DocumentKind>,
    pub(crate) generation: DocumentGeneration,
    drafts: Vec<Draft>,
}

impl<'a> Analysis<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let Parsed { tree, faults } = parse(text);
        let mut analysis = Analysis { text, tree, kind: None, generation: DocumentGeneration::C, drafts: Vec::new() };
        if let Some(tree) = &analysis.tree {
            let checker = check_tree(tree);
            analysis.kind = Some(checker.kind);
            analysis.generation = checker.generation;
            analysis.drafts = checker.drafts;
        }
        let has_tree = analysis.tree.is_some();
        analysis.drafts.extend(faults.into_iter().map(|fault| syntax_draft(fault, has_tree)));
        analysis.drafts.sort_by_key(|draft| (draft.span, draft.code));
        analysis
    }

    /// The fixes, in the order of the text, that `wanted` accepts.
    pub(crate) fn fixes(&self, wanted: impl Fn(Code, &Fix) -> bool) -> impl Iterator<Item = &Fix> {
        self.drafts.iter().filter_map(move |draft| draft.fix.as_ref().filter(|fix| wanted(draft.code, fix)))
    }

    /// Works out pointers, lines and columns.
    pub(crate) fn report(self) -> Report {
        // Long keys make long pointers: together they may not outgrow the text by much.
        let mut budget = 16 * self.text.len() + (1 << 20);
        let mut findings = Vec::with_capacity(self.drafts.len());
        let mut position = TextPosition::start(self.text);
        for draft in self.drafts {
            position.advance_to(draft.span.0);
            let pointer = self.tree.as_ref().map(|tree| tree.pointer_within(draft.node, &mut budget));
            findings.push(Finding {
                code: draft.code,
                severity: draft.code.severity(),
                message: draft.message,
                pointer: pointer.unwrap_or_default(),
                line: position.line,
                column: position.column,
                help: draft.help,
                fix: draft.fix,
                span: draft.span.0..draft.span.1,
            });
        }
        Report { kind: self.kind, generation: self.generation, findings }
    }
}

fn syntax_draft(fault: SyntaxFault, has_tree: bool) -> Draft {
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
