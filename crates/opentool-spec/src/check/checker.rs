//! The state of a check, and how findings are added to it.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::{
    code::Code,
    draft::{At, Draft, Drafts, Remedy},
    finding::Fix,
    kind::{DocumentGeneration, DocumentKind},
    reference_index::References,
    signature::Signature,
};
use crate::tree::{NodeId, Tree};

/// Checks one document: walks its tree once and collects everything that is wrong with it.
///
/// The other modules here add the parts of the walk as methods.
#[derive(Debug)]
pub(super) struct Checker<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) kind: DocumentKind,
    pub(super) generation: DocumentGeneration,
    pub(super) drafts: Drafts,
    pub(super) references: References<'a>,
    /// The functions of an OpenDyn document, checked once references are resolved.
    pub(super) signatures: Vec<Signature>,
    /// The objects with a misspelt member, which has been reported.
    pub(super) renamed: HashSet<NodeId>,
    /// The patterns seen so far and how large each may be, with what is wrong with it.
    pub(super) patterns: HashMap<(String, usize), Option<String>>,
    /// Whether the walk is inside parameters of an older generation, which a fix will move.
    pub(super) in_older: bool,
}

impl<'t, 'a> Checker<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, kind: DocumentKind) -> Self {
        Checker {
            tree,
            kind,
            generation: DocumentGeneration::C,
            drafts: Drafts::for_length(tree.source().len()),
            references: References::default(),
            signatures: Vec::new(),
            renamed: HashSet::new(),
            patterns: HashMap::new(),
            in_older: false,
        }
    }

    /// Reports something with an edit that `fix` applies.
    pub(super) fn fix(&mut self, code: Code, at: At, message: String, remedy: Remedy) {
        self.propose(true, code, at, message, remedy);
    }

    /// Reports something with an edit whose placeholder the author must fill in.
    pub(super) fn suggest(&mut self, code: Code, at: At, message: String, remedy: Remedy) {
        self.propose(false, code, at, message, remedy);
    }

    pub(super) fn propose(&mut self, automatic: bool, code: Code, at: At, message: String, remedy: Remedy) {
        if !self.drafts.has_room(code, automatic) {
            return;
        }
        let help = Some(remedy.help(self.tree));
        let fix = Some(Fix { automatic, edits: remedy.into_edits(self.tree) });
        self.drafts.list.push(Draft { code, span: at.span(self.tree), node: at.node(), message, help, fix });
    }

    /// Reports something that no edit can settle.
    pub(super) fn report(&mut self, code: Code, at: At, message: String, help: Option<String>) {
        if self.drafts.has_room(code, false) {
            self.drafts.list.push(Draft { code, span: at.span(self.tree), node: at.node(), message, help, fix: None });
        }
    }
}
