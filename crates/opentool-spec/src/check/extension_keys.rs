//! The `x-…` keys of OpenDyn documents, for what the spec leaves open, and what is nearly one.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::DocumentKind,
};
use crate::{
    json::near::{is_same, misspelt},
    tree::{Kind, NodeId, quote},
};

/// The most bytes or elements that a buffer may have.
pub(super) const LARGEST: u64 = 16 << 20;

/// What the value of a key must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
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

pub(super) const OF_DOCUMENT: &[(&str, Wanted)] = &[("x-threadSafe", Wanted::Flag), ("x-init", Wanted::Name)];
pub(super) const OF_FUNCTION: &[(&str, Wanted)] = &[
    ("x-symbol", Wanted::Name),
    ("x-errno", Wanted::Flag),
    ("x-returnsCode", Wanted::Codes),
    ("x-free", Wanted::Name),
    ("x-effect", Wanted::OneOf(&["read", "write", "destructive"])),
    ("x-idempotent", Wanted::Flag),
    ("x-global", Wanted::Flag),
];
pub(super) const OF_PARAMETER: &[(&str, Wanted)] = &[
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
pub(super) const OF_RETURN: &[(&str, Wanted)] = &[
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
pub(super) const REVIEW: &str = "x-review";
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

impl Checker<'_, '_> {
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
}
