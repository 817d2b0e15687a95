//! The `x-…` keys of OpenDyn documents, for what the spec leaves open.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::DocumentKind,
    signature::Signature,
};
use crate::{
    json::near::{is_same, misspelt},
    tree::{Kind, NodeId, Tree, quote},
};

/// The most bytes or elements that a buffer may have.
const LARGEST: u64 = 16 << 20;

/// What the value of a key must be.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Flag,
    Name,
    /// An integer from 1 to this.
    Count(u64),
    OneOf(&'static [&'static str]),
    /// The name of a parameter, or of the return value where that is allowed.
    Counter {
        of_return: bool,
    },
    /// Whether any, or which, integers mean success.
    Codes,
    /// A place in a struct: an integer from 0.
    Offset,
    /// An object whose members are checked with the function.
    Object,
    /// Integers by name.
    Values,
}

const OF_DOCUMENT: &[(&str, Wanted)] = &[("x-threadSafe", Wanted::Flag), ("x-init", Wanted::Name)];
const OF_FUNCTION: &[(&str, Wanted)] = &[
    ("x-symbol", Wanted::Name),
    ("x-errno", Wanted::Flag),
    ("x-returnsCode", Wanted::Codes),
    ("x-free", Wanted::Name),
    ("x-effect", Wanted::OneOf(&["read", "write", "destructive"])),
    ("x-idempotent", Wanted::Flag),
    ("x-global", Wanted::Flag),
];
const OF_PARAMETER: &[(&str, Wanted)] = &[
    ("x-handle", Wanted::Name),
    ("x-closes", Wanted::Flag),
    ("x-size", Wanted::Count(LARGEST)),
    ("x-sizeParam", Wanted::Counter { of_return: false }),
    ("x-lengthParam", Wanted::Counter { of_return: true }),
    ("x-encoding", Wanted::OneOf(&["utf8", "latin1", "base64", "hex"])),
    ("x-free", Wanted::Name),
    ("x-indirect", Wanted::Flag),
    ("x-inOut", Wanted::Flag),
    ("x-byValue", Wanted::Flag),
    ("x-allocate", Wanted::Count(LARGEST)),
    ("x-field", Wanted::Name),
    ("x-offset", Wanted::Offset),
    ("x-lengthField", Wanted::Object),
    ("x-when", Wanted::Object),
    ("x-callback", Wanted::Object),
    ("x-userData", Wanted::Flag),
    ("x-events", Wanted::Counter { of_return: false }),
    ("x-values", Wanted::Values),
    ("x-flags", Wanted::Flag),
    ("x-keep", Wanted::Counter { of_return: true }),
    ("x-parent", Wanted::Counter { of_return: false }),
    ("x-close", Wanted::Name),
];
const OF_RETURN: &[(&str, Wanted)] = &[
    ("x-handle", Wanted::Name),
    ("x-free", Wanted::Name),
    ("x-size", Wanted::Count(LARGEST)),
    ("x-lengthParam", Wanted::Counter { of_return: false }),
    ("x-encoding", Wanted::OneOf(&["utf8", "latin1", "base64", "hex"])),
    ("x-byValue", Wanted::Flag),
    ("x-values", Wanted::Values),
    ("x-parent", Wanted::Counter { of_return: false }),
    ("x-close", Wanted::Name),
];
/// The layout of a struct, on its schema.
const OF_SCHEMA: &[(&str, Wanted)] = &[("x-struct", Wanted::Object)];

/// What is uncertain, for a person to check.
const REVIEW: &str = "x-review";
const OF_ANYTHING: &[(&str, Wanted)] = &[(REVIEW, Wanted::Name)];
/// How many parameters of a variadic function are fixed; the limit is checked with the function.
const FIXED_ARGUMENTS: &[(&str, Wanted)] = &[("x-fixedArgs", Wanted::Count(LARGEST))];

/// A key that is this long and nearly a known one is certainly a misspelling of it.
const UNMISTAKABLE: usize = 10;

/// All known keys, in the order in which they are compared.
fn known() -> impl Iterator<Item = (&'static str, Wanted)> {
    [OF_DOCUMENT, OF_FUNCTION, FIXED_ARGUMENTS, OF_PARAMETER, OF_RETURN, OF_SCHEMA, OF_ANYTHING]
        .into_iter()
        .flatten()
        .copied()
}

impl Wanted {
    /// Whether a value has the right JSON type, if not the right value.
    fn is_of_kind(self, kind: Kind) -> bool {
        match self {
            Wanted::Flag => kind == Kind::Bool,
            Wanted::Name | Wanted::OneOf(_) | Wanted::Counter { .. } => kind == Kind::String,
            Wanted::Count(_) | Wanted::Offset => kind == Kind::Number,
            Wanted::Object | Wanted::Values => kind == Kind::Object,
            Wanted::Codes => matches!(kind, Kind::Bool | Kind::Array),
        }
    }
}

/// Whether a key looks like an extension: `x-size`, `X-size`, `x_size`, `xSize`.
fn looks_like_one(key: &str) -> bool {
    let mut chars = key.chars();
    let begins = matches!(chars.next(), Some('x' | 'X'));
    begins && chars.next().is_some_and(|second| matches!(second, '-' | '_') || second.is_ascii_uppercase())
}

/// The names of the values of a function.
struct ValueNames<'v, 'a> {
    parameters: &'v HashSet<Cow<'a, str>>,
    returns: Option<Cow<'a, str>>,
}

impl<'a> Checker<'_, 'a> {
    /// Whether a key is an extension: in OpenDyn documents, a known one.
    pub(super) fn is_extension(&self, key: &str) -> bool {
        key.starts_with("x-") && (self.kind != DocumentKind::OpenDyn || known().any(|(name, _)| name == key))
    }

    /// Reports a member whose key is a misspelt extension, and returns whether it is one.
    pub(super) fn misspelt_extension(&mut self, object: NodeId, member: NodeId) -> bool {
        let (key, kind) = (self.tree.key(member), self.tree.kind(member));
        if self.kind != DocumentKind::OpenDyn || !looks_like_one(&key) {
            return false;
        }
        let fitting = known().filter(|(_, wanted)| wanted.is_of_kind(kind)).map(|(name, _)| name);
        let Some(meant) = misspelt(&key, fitting).filter(|meant| self.tree.get(object, meant).is_none()) else {
            return false;
        };
        let message = format!("{} is not a known extension: it is kept and ignored", quote(&key));
        let is_sure = meant.len() >= UNMISTAKABLE || is_same(&key, meant);
        let remedy = Remedy::Rename(member, meant.to_owned());
        self.propose(is_sure, Code::MisspeltExtension, At::Key(member), message, remedy);
        true
    }

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
