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

/// Takes away what the comment's own form puts before the text: one space, or the stars of a block.
fn unindent(comment: &str) -> String {
    comment
        .lines()
        .map(|line| {
            let line = line.trim_end();
            match line.trim_start().strip_prefix('*') {
                Some(rest) if comment.contains('\n') => rest.strip_prefix(' ').unwrap_or(rest),
                _ => line.strip_prefix(' ').unwrap_or(line),
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}
