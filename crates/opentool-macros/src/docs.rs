//! Doc comments as descriptions.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of the doc comments among `attributes`, as an expression of type `&'static str`.
///
/// It is an expression because `#[doc = include_str!("…")]` is not known to the macro.
pub(crate) fn description(attributes: &[Attribute]) -> Option<TokenStream> {
    let lines: Vec<TokenStream> = attributes.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| quote!(::core::concat!(#(#lines, "\n"),*).trim()))
}

fn line(attribute: &Attribute) -> Option<TokenStream> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    if !meta.path.is_ident("doc") {
        return None;
    }
    Some(match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let text = unindent(&text.value());
            quote!(#text)
        }
        other => quote!(#other),
    })
}

/// Takes away what the comment's own form puts before the text: one space, the stars or the indentation of a block.
fn unindent(comment: &str) -> String {
    let mut lines: Vec<&str> = comment.lines().map(str::trim_end).collect();
    if let [first, rest @ ..] = lines.as_mut_slice() {
        *first = first.strip_prefix(' ').unwrap_or(first);
        if !rest.is_empty()
            && rest.iter().filter(|line| !line.is_empty()).all(|line| line.trim_start().starts_with('*'))
        {
            for line in rest.iter_mut() {
                *line = line.trim_start().trim_start_matches('*');
            }
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let common = rest.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
        for line in rest {
            *line = line.get(common..).unwrap_or_default();
        }
    }
    lines.join("\n")
}
