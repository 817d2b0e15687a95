//! What `impl` blocks define, and what they call of their own type.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, ImplItem, ItemImpl, Type};

use crate::cfg::is_test;

/// An `impl` block for a type that a path names.
#[derive(Debug)]
pub(crate) struct Impl {
    /// The path of the type, without arguments.
    pub(crate) path: Vec<String>,
    /// The functions that it adds to the type; none where it is of a trait.
    pub(crate) defined: BTreeSet<String>,
    /// What it calls as `self.name(…)` or names as `Self::name`.
    pub(crate) called: BTreeSet<String>,
}

impl Impl {
    /// Reads what a block defines; its calls are found where its code is read.
    pub(crate) fn new(block: &ItemImpl) -> Option<Self> {
        let path = type_path(&block.self_ty)?;
        let functions = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) if !function.attrs.iter().any(is_test) => Some(function.sig.ident.to_string()),
            _ => None,
        });
        let defined = if block.trait_.is_none() { functions.collect() } else { BTreeSet::new() };
        Some(Self { path, defined, called: BTreeSet::new() })
    }
}

/// The path of a type, or of what it borrows, whose methods are called on it too.
fn type_path(of: &Type) -> Option<Vec<String>> {
    match of {
        Type::Path(named) if named.qself.is_none() && named.path.leading_colon.is_none() => {
            Some(named.path.segments.iter().map(|segment| segment.ident.to_string()).collect())
        }
        Type::Reference(reference) => type_path(&reference.elem),
        Type::Paren(inner) => type_path(&inner.elem),
        Type::Group(inner) => type_path(&inner.elem),
        _ => None,
    }
}

/// Says whether an expression is `self`, maybe borrowed or behind a pointer.
pub(crate) fn is_self(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => path.path.is_ident("self"),
        Expr::Paren(inner) => is_self(&inner.expr),
        Expr::Reference(inner) => is_self(&inner.expr),
        Expr::Unary(inner) => matches!(inner.op, syn::UnOp::Deref(_)) && is_self(&inner.expr),
        _ => false,
    }
}

/// Finds `self.name(…)` and `Self::name` in the tokens of a macro.
pub(crate) fn calls_in(tokens: TokenStream, called: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct =
        |token: Option<&TokenTree>, sign| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    for (at, token) in tokens.iter().enumerate() {
        let after = tokens.get(at + 1..).unwrap_or_default();
        match token {
            TokenTree::Group(group) => calls_in(group.stream(), called),
            TokenTree::Ident(word) if word == "self" && is_punct(after.first(), '.') => {
                let is_call = match after.get(2) {
                    Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
                    // The arguments of a generic method: `self.name::<T>(…)`.
                    other => is_punct(other, ':'),
                };
                if let Some(TokenTree::Ident(name)) = after.get(1).filter(|_| is_call) {
                    called.insert(name.to_string());
                }
            }
            TokenTree::Ident(word) if word == "Self" && is_punct(after.first(), ':') && is_punct(after.get(1), ':') => {
                if let Some(TokenTree::Ident(name)) = after.get(2) {
                    called.insert(name.to_string());
                }
            }
            _ => {}
        }
    }
}
