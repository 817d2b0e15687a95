//! The `x-…` keys by which an OpenDyn document says what the spec leaves open.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    Code,
    draft::At,
    dynamic::Signature,
    judge::Judge,
    suggest::{nearest, quote},
};
use crate::tree::{Kind, NodeId};

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
    /// The name of a parameter, or of the return value where that counts too.
    Counter {
        of_return: bool,
    },
    /// Whether any, or which, integers say success.
    Codes,
}

const OF_DOCUMENT: &[(&str, Wanted)] = &[("x-threadSafe", Wanted::Flag), ("x-init", Wanted::Name)];
const OF_FUNCTION: &[(&str, Wanted)] = &[
    ("x-symbol", Wanted::Name),
    ("x-errno", Wanted::Flag),
    ("x-returnsCode", Wanted::Codes),
    ("x-free", Wanted::Name),
    ("x-effect", Wanted::OneOf(&["read", "write", "destructive"])),
];
const OF_PARAMETER: &[(&str, Wanted)] = &[
    ("x-handle", Wanted::Name),
    ("x-closes", Wanted::Flag),
    ("x-size", Wanted::Count(LARGEST)),
    ("x-sizeParam", Wanted::Counter { of_return: false }),
    ("x-lengthParam", Wanted::Counter { of_return: true }),
    ("x-encoding", Wanted::OneOf(&["utf8", "latin1", "base64", "hex"])),
];
const OF_RETURN: &[(&str, Wanted)] = &[
    ("x-handle", Wanted::Name),
    ("x-free", Wanted::Name),
    ("x-size", Wanted::Count(LARGEST)),
    ("x-lengthParam", Wanted::Counter { of_return: false }),
    ("x-encoding", Wanted::OneOf(&["utf8", "latin1", "base64", "hex"])),
];

/// What a function calls its values.
struct Values<'v, 'a> {
    parameters: &'v HashSet<Cow<'a, str>>,
    returns: Option<Cow<'a, str>>,
}

impl<'a> Judge<'_, 'a> {
    /// The keys of the document as a whole, which may also stand in its `info`.
    pub(super) fn document_extensions(&mut self, root: NodeId) {
        let none = HashSet::default();
        let values = Values { parameters: &none, returns: None };
        let info = self.tree.get(root, "info").filter(|info| self.tree.kind(*info) == Kind::Object);
        for owner in [Some(root), info].into_iter().flatten() {
            self.extensions(owner, OF_DOCUMENT, &values);
        }
    }

    /// The keys of a function, its parameters and its return value.
    pub(super) fn signature_extensions(&mut self, signature: &Signature, parameters: &HashSet<Cow<'a, str>>) {
        let returns = signature.returns.and_then(|(_, name, _)| self.tree.string(name?));
        let values = Values { parameters, returns };
        self.extensions(signature.function, OF_FUNCTION, &values);
        let most = signature.parameters.len() as u64;
        self.extensions(signature.function, &[("x-fixedArgs", Wanted::Count(most))], &values);
        for nodes in &signature.parameters {
            self.extensions(nodes.parameter, OF_PARAMETER, &values);
        }
        if let Some((returns, ..)) = signature.returns {
            self.extensions(returns, OF_RETURN, &values);
        }
    }

    fn extensions(&mut self, owner: NodeId, keys: &[(&str, Wanted)], values: &Values<'_, 'a>) {
        if self.tree.kind(owner) != Kind::Object {
            return;
        }
        for (key, wanted) in keys {
            let Some(node) = self.tree.get(owner, key).filter(|node| self.tree.kind(*node) != Kind::Null) else {
                continue;
            };
            if let Some(expected) = self.breach(node, *wanted, values) {
                let message = format!("`{key}` must be {expected}, not {}", quote(&self.tree.inline(node)));
                self.tell(Code::InvalidExtension, At::Value(node), message, None);
            }
        }
    }

    /// What a value should be and is not.
    fn breach(&self, node: NodeId, wanted: Wanted, values: &Values<'_, 'a>) -> Option<String> {
        let tree = self.tree;
        let text = tree.string(node);
        let fits = match wanted {
            Wanted::Flag => tree.kind(node) == Kind::Bool,
            Wanted::Name => text.as_deref().is_some_and(|name| !name.is_empty() && !name.contains('\0')),
            Wanted::Count(most) => integer(tree.raw(node)).is_some_and(|count| (1..=i128::from(most)).contains(&count)),
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
                    text.and_then(|name| nearest(&name, values.parameters.iter().map(|name| &**name)).map(quote));
                let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean {meant}?)"));
                format!("the name of a parameter of the function{meant}")
            }
            Wanted::Codes => "true, false or a list of integers".to_owned(),
        })
    }
}

/// An integer as a document writes it.
fn integer(raw: &str) -> Option<i128> {
    raw.parse::<i64>().map(i128::from).or_else(|_| raw.parse::<u64>().map(i128::from)).ok()
}
