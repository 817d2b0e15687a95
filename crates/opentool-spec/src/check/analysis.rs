//! Checking a text: parse, walk, and work out where every finding is.

use super::{
    code::Code,
    document::check_tree,
    draft::Draft,
    finding::{Finding, Fix},
    foreign::{ForeignFormat, OWN_KEYS, foreign_format, yaml_key},
    kind::{DocumentGeneration, DocumentKind},
    position::TextPosition,
    report::{Omitted, POINTERS, Report},
};
use crate::json::near::misspelt;
use crate::tree::{FaultKind, NodeId, Parsed, SyntaxFault, Tree, parse};

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
            Report {
                kind: None,
                foreign: None,
                generation: DocumentGeneration::C,
                findings: vec![finding],
                omitted: Omitted::default(),
            }
        }
    }
}

/// A checked text, before the pointers, lines and columns of its findings are worked out.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    text: &'a str,
    pub(crate) tree: Option<Tree<'a>>,
    pub(crate) kind: Option<DocumentKind>,
    foreign: Option<ForeignFormat>,
    pub(crate) generation: DocumentGeneration,
    drafts: Vec<Draft>,
    omitted: Omitted,
}

impl<'a> Analysis<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let Parsed { tree, faults, omitted } = parse(text);
        let mut analysis = Analysis {
            text,
            tree,
            kind: None,
            foreign: None,
            generation: DocumentGeneration::C,
            drafts: Vec::new(),
            omitted: Omitted::default(),
        };
        match &analysis.tree {
            Some(tree) => {
                analysis.foreign = foreign_format(tree);
                if analysis.foreign.is_none() {
                    let checker = check_tree(tree);
                    analysis.kind = Some(checker.kind);
                    analysis.generation = checker.generation;
                    analysis.drafts = checker.drafts.list;
                    analysis.omitted = checker.drafts.omitted;
                }
            }
            None if let Some((key, format)) = yaml_key(text) => {
                analysis.foreign = format;
                if format.is_none() {
                    analysis.drafts = vec![in_yaml(key)];
                    return analysis;
                }
            }
            None => {}
        }
        if let Some(format) = analysis.foreign {
            // Nothing else is said about a document of others but that it is not JSON.
            analysis.drafts = vec![foreign_draft(text, format)];
            if analysis.tree.is_none() {
                return analysis; // it is YAML
            }
        }
        let has_tree = analysis.tree.is_some();
        analysis.drafts.extend(faults.into_iter().map(|fault| syntax_draft(fault, has_tree)));
        for (kind, count) in omitted {
            for _ in 0..count {
                analysis.omitted.count(code_of(kind).severity());
            }
        }
        if analysis.foreign.is_some() || analysis.tree.as_ref().is_some_and(|tree| !is_meant_for_us(tree)) {
            // JSON of others may be checked, but is never edited.
            analysis.drafts.iter_mut().filter_map(|draft| draft.fix.as_mut()).for_each(|fix| fix.automatic = false);
        }
        analysis.drafts.sort_by_key(|draft| (draft.span, draft.code));
        analysis
    }

    /// The fixes, in the order of the text, that `wanted` accepts.
    pub(crate) fn fixes(&self, wanted: impl Fn(Code, &Fix) -> bool) -> impl Iterator<Item = &Fix> {
        self.drafts.iter().filter_map(move |draft| draft.fix.as_ref().filter(|fix| wanted(draft.code, fix)))
    }

    /// Works out pointers, lines and columns.
    pub(crate) fn report(mut self) -> Report {
        let mut budget = POINTERS * self.text.len() + (1 << 20);
        let mut findings = Vec::with_capacity(self.drafts.len());
        let mut position = TextPosition::start(self.text);
        for draft in std::mem::take(&mut self.drafts) {
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
        let Analysis { kind, foreign, generation, omitted, .. } = self;
        Report { kind, foreign, generation, findings, omitted }
    }
}

/// Whether a JSON text is meant to be a document of ours: it says so, or has functions.
fn is_meant_for_us(tree: &Tree<'_>) -> bool {
    let is_function = |function: NodeId| {
        tree.get(function, "name").is_some()
            && ["description", "parameters"].iter().any(|key| tree.get(function, key).is_some())
    };
    let mut has_info = false;
    let mut has_functions = false;
    for member in tree.children(Tree::ROOT) {
        let key = tree.key(member);
        if misspelt(&key, OWN_KEYS).is_some() {
            return true;
        }
        has_info |= key == "info";
        if misspelt(&key, ["functions"]).is_some() && tree.kind(member).is_container() {
            has_functions = true;
            if tree.children(member).any(is_function) {
                return true;
            }
        }
    }
    has_info && has_functions
}

fn foreign_draft(text: &str, format: ForeignFormat) -> Draft {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let rest = &text[start..];
    let start = start + rest.len() - rest.trim_start().len();
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    Draft {
        code: Code::ForeignDocument,
        span: (start, start + length),
        node: Tree::ROOT,
        message: format!("this is {}, not an OpenTool or OpenDyn document", format.described()),
        help: Some(format.help().to_owned()),
        fix: None,
    }
}

fn in_yaml(key: &str) -> Draft {
    Draft {
        code: Code::NotJson,
        span: (0, 0),
        node: Tree::ROOT,
        message: format!("the text has `{key}:` as YAML does: a document is JSON"),
        help: Some("convert the file to JSON".to_owned()),
        fix: None,
    }
}

fn code_of(kind: FaultKind) -> Code {
    match kind {
        FaultKind::NotJson => Code::NotJson,
        FaultKind::TooDeep => Code::TooDeep,
        FaultKind::DuplicateKey => Code::DuplicateKey,
        FaultKind::NumberTooLarge => Code::NumberTooLarge,
        FaultKind::NumberRounded => Code::NumberRounded,
        FaultKind::ByteOrderMark => Code::ByteOrderMark,
    }
}

fn syntax_draft(fault: SyntaxFault, has_tree: bool) -> Draft {
    Draft {
        code: code_of(fault.kind),
        span: fault.span,
        node: fault.within.filter(|_| has_tree).unwrap_or(Tree::ROOT),
        message: fault.message,
        help: fault.help,
        fix: fault.edit.map(|edit| Fix { automatic: true, edits: vec![edit] }),
    }
}
