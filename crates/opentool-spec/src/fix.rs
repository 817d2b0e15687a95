//! Fixing documents: the fixes of findings, applied until none is left.

use std::collections::BTreeMap;

use crate::{
    check::{Analysis, Code, DocumentKind, Fix, Report, check, is_one_point_x},
    tree::{Edit, Tree, apply, json_string},
};

/// The most passes over a text: a fix can uncover another below it, one level of nesting at a time.
const PASSES: usize = 1024;

/// A fixed text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fixed {
    /// The text after all fixes, laid out as its author had it.
    pub text: String,
    /// How many fixes were applied.
    pub applied: usize,
    /// What the fixes left to do.
    pub report: Report,
}

/// Applies every automatic fix to a document, and updates an OpenTool document to the current version.
///
/// The rest of the text stays as it is: key order, layout, unknown keys.
///
/// ```
/// let text = r#"{"opentool": "1.0.0", "info": {"title": "T", "version": "1"},
///   "functions": [{"name": "now", "description": "The time."}]}"#;
/// let fixed = opentool_spec::fix(text);
/// assert_eq!(fixed.text, text.replace("1.0.0", "1.1.0").replace(r#"time.""#, r#"time.", "parameters": []"#));
/// ```
pub fn fix(text: &str) -> Fixed {
    let (text, applied) = apply_fixes(text, |_, fix| fix.automatic);
    let text = current_version(text);
    let report = check(&text);
    Fixed { text, applied, report }
}

/// Applies the fixes that `wanted` accepts until none is left, and counts them.
pub(crate) fn apply_fixes(text: &str, wanted: impl Fn(Code, &Fix) -> bool) -> (String, usize) {
    let mut text = text.to_owned();
    let mut applied = 0;
    for _ in 0..PASSES {
        let analysis = Analysis::new(&text);
        let mut edits = EditSet::default();
        let count = analysis.fixes(&wanted).filter(|fix| edits.accept(&fix.edits)).count();
        if count == 0 {
            break;
        }
        applied += count;
        text = apply(&text, &edits.sorted());
    }
    (text, applied)
}

/// Writes the current version into an OpenTool document of an earlier 1.x.
fn current_version(text: String) -> String {
    let analysis = Analysis::new(&text);
    let edit = analysis.tree.as_ref().and_then(|tree| {
        let node = tree.get(Tree::ROOT, "opentool")?;
        let supported = analysis.kind == Some(DocumentKind::OpenTool) && is_one_point_x(&tree.string(node)?);
        supported.then(|| tree.replace_value(node, json_string(DocumentKind::OpenTool.version())))
    });
    match edit {
        Some(edit) => apply(&text, &[edit]),
        None => text,
    }
}

/// Edits without conflicts, by where they start; edits at one place in the order they were made.
#[derive(Default)]
struct EditSet(BTreeMap<usize, Vec<Edit>>);

impl EditSet {
    /// Takes all the edits of a fix, or none of them.
    fn accept(&mut self, edits: &[Edit]) -> bool {
        if edits.iter().any(|edit| self.conflicts(edit)) {
            return false;
        }
        for edit in edits {
            self.0.entry(edit.start).or_default().push(edit.clone());
        }
        true
    }

    fn conflicts(&self, edit: &Edit) -> bool {
        let before = self.0.range(..=edit.start).next_back();
        let after = self.0.range(edit.start..=edit.end);
        before.into_iter().flat_map(|(_, edits)| edits).any(|other| other.conflicts(edit))
            || after.flat_map(|(_, edits)| edits).any(|other| edit.conflicts(other))
    }

    fn sorted(self) -> Vec<Edit> {
        self.0.into_values().flatten().collect()
    }
}
