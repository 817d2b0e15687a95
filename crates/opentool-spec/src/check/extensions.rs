//! The values of the `x-…` keys of OpenDyn documents.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::At,
    extension_keys::{LARGEST, OF_DOCUMENT, OF_FUNCTION, OF_PARAMETER, OF_RETURN, REVIEW, Wanted},
    signature::Signature,
};
use crate::{
    json::near::misspelt,
    tree::{Kind, NodeId, Tree, quote},
};

/// The names of the values of a function.
struct ValueNames<'v, 'a> {
    parameters: &'v HashSet<Cow<'a, str>>,
    returns: Option<Cow<'a, str>>,
}

impl<'a> Checker<'_, 'a> {
    /// The keys of the document as a whole, which may also be in its `info`.
    pub(super) fn document_extensions(&mut self, root: NodeId) {
        let none = HashSet::default();
        let values = ValueNames { parameters: &none, returns: None };
        let info = self.tree.get(root, "info").filter(|info| self.tree.kind(*info) == Kind::Object);
        for owner in [Some(root), info].into_iter().flatten() {
            self.extensions(owner, OF_DOCUMENT, &values);
        }
    }

    /// The keys of a function, its parameters and its return value.
    pub(super) fn signature_extensions(&mut self, signature: &Signature, parameters: &HashSet<Cow<'a, str>>) {
        let returns = signature.returns.and_then(|(_, name, _)| self.tree.string(name?));
        let values = ValueNames { parameters, returns };
        self.extensions(signature.function, OF_FUNCTION, &values);
        let most = signature.parameters.len() as u64;
        self.extensions(signature.function, &[("x-fixedArgs", Wanted::Count(most))], &values);
        self.review(signature.function);
        for nodes in &signature.parameters {
            self.extensions(nodes.parameter, OF_PARAMETER, &values);
            self.review(nodes.parameter);
        }
        if let Some((returns, ..)) = signature.returns {
            self.extensions(returns, OF_RETURN, &values);
            self.review(returns);
        }
    }

    /// Reports a mark that is left.
    fn review(&mut self, owner: NodeId) {
        let tree = self.tree;
        let Some(mark) = tree.get(owner, REVIEW).filter(|mark| tree.kind(*mark) != Kind::Null) else { return };
        let message = match tree.string(mark) {
            Some(why) => format!("to review: {why}"),
            None => "to review".to_owned(),
        };
        let help = format!("compare it with the library's manual, correct it, and remove `{REVIEW}`");
        self.report(Code::Review, At::Value(mark), message, Some(help));
    }

    /// Reports where the function that `x-init` names cannot be called without arguments.
    pub(super) fn initialiser(&mut self, signatures: &[Signature]) {
        let tree = self.tree;
        let info = tree.get(Tree::ROOT, "info");
        let Some(init) = [Some(Tree::ROOT), info].into_iter().flatten().find_map(|owner| tree.get(owner, "x-init"))
        else {
            return;
        };
        let named = |node: NodeId| tree.get(node, "name").and_then(|name| tree.string(name));
        let Some(name) = tree.string(init) else { return };
        let Some(signature) = signatures.iter().find(|signature| named(signature.function).as_ref() == Some(&name))
        else {
            return;
        };
        // The length of another parameter is computed, not given.
        let counters: HashSet<_> = signature
            .parameters
            .iter()
            .filter_map(|nodes| tree.string(tree.get(nodes.parameter, "x-lengthParam")?))
            .collect();
        let is_needed = |parameter: &Cow<'_, str>| !counters.contains(parameter);
        let needed = signature.parameters.iter().filter(|nodes| self.is_required(nodes));
        let Some(needed) = needed.filter_map(|nodes| named(nodes.parameter)).find(is_needed) else { return };
        let (shown, needed) = (quote(&name), quote(&needed));
        let message = format!("{shown} is run with no arguments when the library is loaded, but {needed} is required");
        let help = "name a function that needs none, or one that you write around it".to_owned();
        self.report(Code::InitNeedsArguments, At::Value(init), message, Some(help));
    }

    fn extensions(&mut self, owner: NodeId, keys: &[(&str, Wanted)], values: &ValueNames<'_, 'a>) {
        if self.tree.kind(owner) != Kind::Object {
            return;
        }
        for (key, wanted) in keys {
            let Some(node) = self.tree.get(owner, key).filter(|node| self.tree.kind(*node) != Kind::Null) else {
                continue;
            };
            if let Some(expected) = self.violation(node, *wanted, values) {
                let message = format!("`{key}` must be {expected}, not {}", quote(&self.tree.inline(node)));
                self.report(Code::InvalidExtension, At::Value(node), message, None);
            }
        }
    }

    /// What a value should be, where it is something else.
    fn violation(&self, node: NodeId, wanted: Wanted, values: &ValueNames<'_, 'a>) -> Option<String> {
        let tree = self.tree;
        let text = tree.string(node);
        let fits = match wanted {
            Wanted::Flag => tree.kind(node) == Kind::Bool,
            Wanted::Name => text.as_deref().is_some_and(|name| !name.is_empty() && !name.contains('\0')),
            Wanted::Count(most) => integer(tree.raw(node)).is_some_and(|count| (1..=i128::from(most)).contains(&count)),
            Wanted::Offset => integer(tree.raw(node)).is_some_and(|offset| (0..=i128::from(LARGEST)).contains(&offset)),
            Wanted::Object => tree.kind(node) == Kind::Object,
            Wanted::Values => {
                let is_integer = |value: NodeId| integer(tree.raw(value)).is_some();
                tree.kind(node) == Kind::Object && tree.children(node).all(is_integer)
            }
            Wanted::OneOf(words) => text.as_deref().is_some_and(|word| words.contains(&word)),
            Wanted::Counter { of_return } => text.as_ref().is_some_and(|name| {
                values.parameters.contains(name) || (of_return && values.returns.as_ref() == Some(name))
            }),
            Wanted::Codes => match tree.kind(node) {
                Kind::Bool => true,
                Kind::Array => {
                    tree.last_child(node).is_some() && tree.children(node).all(|code| integer(tree.raw(code)).is_some())
                }
                _ => false,
            },
        };
        if fits {
            return None;
        }
        Some(match wanted {
            Wanted::Flag => "true or false".to_owned(),
            Wanted::Name => "a name".to_owned(),
            Wanted::Count(0) => "left out where there are no parameters".to_owned(),
            Wanted::Count(most) => format!("an integer from 1 to {most}"),
            Wanted::OneOf(words) => format!("one of {}", words.join(", ")),
            Wanted::Counter { .. } => {
                let meant =
                    text.and_then(|name| misspelt(&name, values.parameters.iter().map(|name| &**name)).map(quote));
                let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"));
                format!("the name of a parameter of the function{meant}")
            }
            Wanted::Codes => "true, false or a list of integers".to_owned(),
            Wanted::Offset => format!("an integer from 0 to {LARGEST}"),
            Wanted::Object => "an object".to_owned(),
            Wanted::Values => "an object of integers by name".to_owned(),
        })
    }
}

/// An integer as a document writes it.
fn integer(raw: &str) -> Option<i128> {
    raw.parse::<i64>().map(i128::from).or_else(|_| raw.parse::<u64>().map(i128::from)).ok()
}
