//! Fixing documents: the fixes of findings, applied until none is left.

use std::{collections::BTreeMap, ops::Range};

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
    /// What the fixes left to do, with its places in the fixed text.
    pub report: Report,
    /// The same with its places in the text as it was.
    pub left: Report,
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
    let mut changes = apply_fixes(text, |_, fix| fix.automatic);
    changes.update_version();
    let report = check(&changes.text);
    let left = report.clone().moved_to(text, |at| changes.original_offset(at));
    Fixed { text: changes.text, applied: changes.applied, report, left }
}

/// A text after fixes, with what was done to it.
pub(crate) struct Changes {
    pub(crate) text: String,
    /// How many fixes were applied.
    applied: usize,
    passes: Vec<Vec<Moved>>,
}

/// A range that an edit has replaced, before and after.
struct Moved {
    old: Range<usize>,
    new: Range<usize>,
}

impl Changes {
    fn apply(&mut self, edits: &[Edit]) {
        let (mut added, mut removed) = (0, 0);
        let moved = edits.iter().map(|edit| {
            let start = edit.start + added - removed;
            added += edit.text.len();
            removed += edit.end - edit.start;
            Moved { old: edit.start..edit.end, new: start..start + edit.text.len() }
        });
        self.passes.push(moved.collect());
        self.text = apply(&self.text, edits);
    }

    /// Where a byte of the text was before the changes; for a new one, where it was put.
    fn original_offset(&self, at: usize) -> usize {
        self.passes.iter().rev().fold(at, |at, pass| {
            let after = pass.partition_point(|moved| moved.new.start <= at);
            match after.checked_sub(1).and_then(|index| pass.get(index)) {
                None => at,
                Some(moved) if at < moved.new.end => moved.old.start,
                Some(moved) => moved.old.end + (at - moved.new.end),
            }
        })
    }

    /// Writes the current version into an OpenTool document of an earlier 1.x.
    fn update_version(&mut self) {
        let analysis = Analysis::new(&self.text);
        let edit = analysis.tree.as_ref().and_then(|tree| {
            let node = tree.get(Tree::ROOT, "opentool")?;
            let supported = analysis.kind == Some(DocumentKind::OpenTool) && is_one_point_x(&tree.string(node)?);
            let current = json_string(DocumentKind::OpenTool.version());
            (supported && tree.raw(node) != current).then(|| tree.replace_value(node, current))
        });
        if let Some(edit) = edit {
            self.apply(&[edit]);
        }
    }
}

/// Applies the fixes that `wanted` accepts until none is left, and counts them.
pub(crate) fn apply_fixes(text: &str, wanted: impl Fn(Code, &Fix) -> bool) -> Changes {
    let mut changes = Changes { text: text.to_owned(), applied: 0, passes: Vec::new() };
    for _ in 0..PASSES {
        let analysis = Analysis::new(&changes.text);
        let mut edits = EditSet::default();
        let count = analysis.fixes(&wanted).filter(|fix| edits.accept(&fix.edits)).count();
        if count == 0 {
            break;
        }
        changes.applied += count;
        changes.apply(&edits.sorted());
    }
    changes
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
