//! What must hold of the types of parameters, so that a type for which it does not gets one error.
//!
//! What derives write for the argument struct asks for the traits of a field's type in five places, and so would be five
//! errors. Therefore the struct, and the function that declares the tool, have the traits as a condition: in them they are
//! given, and only the call of that function is refused. There is such a function for each parameter, and each calls the next,
//! so that an error stands at the type that it is about.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Generics, Type, WhereClause, WherePredicate};

/// The condition that a type can be that of a parameter.
pub(crate) struct Condition {
    /// The first parameter of the type.
    pub(crate) parameter: Ident,
    pub(crate) ty: Type,
}

impl Condition {
    /// The type as text, by which two are compared.
    fn text(&self) -> String {
        self.ty.to_token_stream().to_string()
    }

    /// The condition in a `where` clause. The lifetime makes it one that need not hold where it stands, also of a type that is
    /// known there.
    fn predicate(&self) -> WherePredicate {
        let ty = &self.ty;
        syn::parse_quote_spanned!(ty.span()=> for<'a> #ty: __private::ToolParameter<'a>)
    }

    /// The name of the function that has the condition; it is in the error.
    fn function(&self) -> Ident {
        format_ident!("__parameter_{}", self.parameter, span = Span::call_site())
    }

    /// The call of the function, which for the compiler is where the type stands.
    fn call(&self, generics: &Generics) -> TokenStream {
        let mut spans = self.ty.to_token_stream().into_iter().map(|token| token.span());
        let first = spans.next().unwrap_or_else(Span::call_site);
        let last = spans.last().unwrap_or(first);
        let mut function = self.function();
        function.set_span(first);
        let arguments = generics.params.iter().map(|parameter| match parameter {
            syn::GenericParam::Lifetime(parameter) => parameter.lifetime.to_token_stream(),
            syn::GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
            syn::GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
        });
        let (open, close) = (quote_spanned!(first=> ::<), quote_spanned!(last=> >()));
        quote!(#function #open #(#arguments),* #close)
    }
}

/// The conditions of all parameters of a tool, one for each type.
pub(crate) struct Conditions(Vec<Condition>);

impl Conditions {
    /// Collects them.
    pub(crate) fn new(conditions: impl Iterator<Item = Condition>) -> Self {
        let mut collected: Vec<Condition> = Vec::new();
        for condition in conditions {
            if collected.iter().all(|other| other.text() != condition.text()) {
                collected.push(condition);
            }
        }
        Self(collected)
    }

    /// Adds all to a `where` clause.
    pub(crate) fn add_to(&self, clause: &mut WhereClause) {
        clause.predicates.extend(self.0.iter().map(Condition::predicate));
    }

    /// The items and the expression, in which the conditions are given, as a block of the type `returned`, in which they need
    /// not be.
    pub(crate) fn given_in(&self, body: TokenStream, returned: &TokenStream, generics: &Generics) -> TokenStream {
        let Some(first) = self.0.first() else { return quote!({ #body }) };
        let mut given = generics.clone();
        let functions = self.0.iter().enumerate().map(|(index, condition)| {
            given.make_where_clause().predicates.push(condition.predicate());
            let body = match self.0.get(index + 1) {
                Some(next) => next.call(generics),
                None => body.clone(),
            };
            let name = condition.function();
            let (declared, _, clause) = given.split_for_impl();
            quote! {
                #[allow(non_snake_case)]
                fn #name #declared() -> #returned #clause { #body }
            }
        });
        let functions: Vec<_> = functions.collect();
        let call = first.call(generics);
        quote!({ #(#functions)* #call })
    }
}
