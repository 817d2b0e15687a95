//! Handles: which functions return them, and which need them.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    signature::{ParameterNodes, Signature},
};
use crate::{
    json::near::misspelt,
    tree::{NodeId, json_string, quote},
};

/// How many names are compared for "did you mean", for all handles of a document.
const COMPARED_IN_ALL: usize = 10_000;

impl<'a> Checker<'_, 'a> {
    /// The node that names the type of a handle: the parameter or return value, else its schema.
    pub(super) fn handle_of(&self, owner: NodeId, schema: Option<NodeId>) -> Option<NodeId> {
        let of_schema = || self.tree.get(self.references.end_of(schema?), "x-handle");
        self.tree.get(owner, "x-handle").or_else(of_schema)
    }

    /// Whether a parameter must be passed.
    pub(super) fn is_required(&self, nodes: &ParameterNodes) -> bool {
        let required = self.tree.get(nodes.parameter, "required").and_then(|required| self.tree.bool(required));
        required.unwrap_or(true) && self.goes_in(nodes)
    }

    /// Reports handles that a function needs and that no function returns.
    pub(super) fn handles(&mut self, signatures: &[Signature]) {
        let given = self.returned_handles(signatures);
        let mut left = COMPARED_IN_ALL;
        for nodes in signatures.iter().flat_map(|signature| &signature.parameters) {
            let Some(handle) = self.handle_of(nodes.parameter, nodes.schema) else { continue };
            let Some(kind) = self.tree.string(handle).filter(|kind| !given.contains(kind)) else { continue };
            if !self.is_required(nodes) {
                continue; // it can be left out
            }
            let shown = quote(&kind);
            let message = format!("no function returns a handle of the type {shown}, so this one cannot be called");
            let at =
                At::Value(if self.tree.get(nodes.parameter, "x-handle").is_some() { handle } else { nodes.parameter });
            let meant = misspelt(&kind, given.iter().take(left).map(|kind| &**kind));
            left = left.saturating_sub(given.len());
            match meant {
                Some(meant) => {
                    let remedy = Remedy::Replace(handle, json_string(meant));
                    self.suggest(Code::UnknownHandle, at, message, remedy);
                }
                None => {
                    let help =
                        "describe the function that returns one, directly or through an output parameter".to_owned();
                    self.report(Code::UnknownHandle, at, message, Some(help));
                }
            }
        }
    }

    /// The types of handles that functions return, directly or through an output parameter.
    fn returned_handles(&self, signatures: &[Signature]) -> BTreeSet<Cow<'a, str>> {
        let returned = signatures.iter().filter_map(|signature| signature.returns);
        let returned = returned.filter_map(|(returns, _, schema)| self.handle_of(returns, schema));
        let parameters = signatures.iter().flat_map(|signature| &signature.parameters);
        let given = parameters.filter(|nodes| !self.goes_in(nodes));
        let given = given.filter_map(|nodes| self.handle_of(nodes.parameter, nodes.schema));
        returned.chain(given).filter_map(|handle| self.tree.string(handle)).collect()
    }
}
