//! The struct that a tool's arguments are read into, written as its author would have written it.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Expr, ExprLit, GenericParam, Generics, Ident, Lifetime, Lit, LitStr, Pat, PatType, Token, Type, TypePath,
};

use crate::attributes;
use crate::conditions::{Condition, Conditions};
use crate::errors::Errors;
use crate::options::ParamOptions;
use crate::types::{Unsuitable, is_optional_text, is_path, is_text, ungrouped};

/// A parameter that the model fills in.
#[derive(Clone)]
pub(crate) struct Parameter {
    pub(crate) ident: Ident,
    ty: Type,
    kind: ParameterKind,
    options: ParamOptions,
    /// Doc comments, and what the author says to serde and schemars.
    carried: Vec<Attribute>,
}

#[derive(Clone, Copy, PartialEq)]
enum ParameterKind {
    Owned,
    /// `&str`, borrowed from the call's own text where that has no escapes.
    Text,
    /// `Option<&str>`.
    OptionalText,
}

impl Parameter {
    /// Reads a parameter and takes off the attributes that the compiler would refuse there.
    pub(crate) fn read(typed: &mut PatType, errors: &mut Errors) -> Option<Self> {
        let options = ParamOptions::from_attributes(&attributes::take(&mut typed.attrs, "param"), errors);
        let carried: Vec<_> =
            ["doc", "serde", "schemars"].iter().flat_map(|name| attributes::take(&mut typed.attrs, name)).collect();
        refuse_other_names(&carried, errors);
        for stray in attributes::take(&mut typed.attrs, "tool") {
            errors.at(&stray, "the options of a parameter belong in `#[param(…)]`");
        }
        if let Some(condition) = attributes::take(&mut typed.attrs, "cfg").first() {
            errors.at(condition, "a tool's schema cannot depend on `cfg`; write two functions");
        }
        let ident = parameter_name(&typed.pat, errors);
        let ty = ungrouped(&typed.ty);
        let kind = if is_text(&ty) {
            ParameterKind::Text
        } else if is_optional_text(&ty) {
            ParameterKind::OptionalText
        } else {
            ParameterKind::Owned
        };
        if kind == ParameterKind::Owned && !refuse_context(&ty, errors) {
            Unsuitable::in_argument(&ty, has_field_attributes(&carried), errors);
        }
        Some(Self { ident: ident?, ty, kind, options, carried })
    }

    /// The name that the model uses; none where the parameter has none of its own.
    pub(crate) fn name(&self) -> Option<String> {
        if let Some(name) = &self.options.name {
            return Some(name.value());
        }
        let mut name = Some(self.ident.unraw().to_string());
        each_option(&self.carried, "serde", |meta| {
            if ["flatten", "skip", "skip_deserializing"].iter().any(|hidden| meta.path.is_ident(hidden)) {
                name = None;
            } else if meta.path.is_ident("rename") && meta.input.peek(Token![=]) {
                name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("rename") {
                meta.parse_nested_meta(|side| {
                    let given = side.value()?.parse::<LitStr>()?;
                    if side.path.is_ident("deserialize") {
                        name = Some(given.value());
                    }
                    Ok(())
                })?;
            }
            Ok(())
        });
        name
    }

    /// The argument as the function wants it, from the field of the same name.
    pub(crate) fn pass(&self) -> TokenStream {
        let ident = &self.ident;
        match self.kind {
            ParameterKind::Owned => quote!(#ident),
            ParameterKind::Text => quote!(&*#ident),
            ParameterKind::OptionalText => quote!(#ident.as_deref()),
        }
    }

    fn borrows(&self) -> bool {
        self.kind != ParameterKind::Owned
    }

    fn field_type(&self, lifetime: &TokenStream) -> TokenStream {
        // Written just so, since serde borrows what is spelt `Cow<'_, str>`.
        let text = quote!(::std::borrow::Cow<#lifetime, str>);
        match self.kind {
            ParameterKind::Owned => {
                let ty = &self.ty;
                quote!(#ty)
            }
            ParameterKind::Text => text,
            ParameterKind::OptionalText => quote!(::core::option::Option<#text>),
        }
    }

    /// The condition that the type has the traits it needs, unless its attributes say how else it is read.
    fn condition(&self) -> Option<Condition> {
        (self.kind == ParameterKind::Owned && !has_field_attributes(&self.carried))
            .then(|| Condition { parameter: self.ident.unraw(), ty: self.ty.clone() })
    }

    /// The value of an argument that the model leaves out.
    fn default_value(&self) -> Option<TokenStream> {
        let ParamOptions { default, required, .. } = &self.options;
        match (default, required) {
            (Some(text @ Expr::Lit(ExprLit { lit: Lit::Str(_), .. })), _) => {
                Some(quote!(::core::convert::Into::into(#text)))
            }
            (Some(value), _) => Some(quote!(#value)),
            (None, Some(required)) if !required.value => {
                let ty = self.field_type(&quote!('static));
                Some(quote_spanned!(self.ty.span()=> __private::default_parameter::<#ty>()))
            }
            (None, _) => None,
        }
    }

    /// The field, and the function that makes its default, which is as generic as the struct.
    fn field(&self, generics: Option<&Generics>) -> (TokenStream, Option<TokenStream>) {
        let Self { ident, options, carried, .. } = self;
        let ty = self.field_type(&quote!('__arguments));
        let span = self.ty.span();
        let mut attributes = TokenStream::new();
        if self.kind == ParameterKind::Text {
            attributes.extend(quote!(#[serde(borrow)]));
        }
        if let Some(name) = &options.name {
            attributes.extend(quote!(#[serde(rename = #name)]));
        }
        if let Some(description) = &options.description {
            attributes.extend(quote!(#[schemars(description = #description)]));
        }
        if options.is_required() {
            attributes.extend(quote!(#[schemars(required)]));
        }
        let default_function = self.default_value().map(|value| {
            let function = format_ident!("__default_{}", ident);
            let split = generics.map(Generics::split_for_impl);
            let declared = split.as_ref().map(|(declared, ..)| declared);
            let turbofish = split.as_ref().map(|(_, names, _)| names.as_turbofish());
            let where_clause = split.as_ref().and_then(|(.., clause)| *clause);
            let path = quote!(#function #turbofish).to_string();
            attributes.extend(quote!(#[serde(default = #path)]));
            let returned = self.field_type(&quote!('static));
            quote_spanned!(span=> fn #function #declared() -> #returned #where_clause { #value })
        });
        (quote_spanned!(span=> #(#carried)* #attributes #ident: #ty,), default_function)
    }
}

/// The plain name of a parameter; patterns have none that a model could use.
fn parameter_name(pattern: &Pat, errors: &mut Errors) -> Option<Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(name.ident.clone()),
        Pat::Wild(wild) => {
            errors.at(wild, "a parameter needs a name, since the model fills it in by name");
            None
        }
        other => {
            errors.at(
                other,
                "a parameter needs a plain name, since the model fills it in by name; \
                 take the pattern apart in the body",
            );
            None
        }
    }
}

/// Visits each option for serde or schemars. Those that cannot be parsed are left to their derives, which report them.
fn each_option(carried: &[Attribute], whose: &str, mut look: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>) {
    for attribute in carried.iter().filter(|attribute| attribute.path().is_ident(whose)) {
        let _ = attribute.parse_nested_meta(|meta| {
            look(&meta)?;
            while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                meta.input.parse::<TokenTree>()?;
            }
            Ok(())
        });
    }
}

/// A parameter has one name, the one in the schema; an argument under another name is dropped before it is read.
fn refuse_other_names(carried: &[Attribute], errors: &mut Errors) {
    each_option(carried, "serde", |meta| {
        if meta.path.is_ident("alias") {
            errors.at(
                &meta.path,
                "a model knows a parameter by the one name in the schema, and an argument under another is dropped: \
                 remove the alias, or make it the name with `#[param(name = \"…\")]`",
            );
        }
        Ok(())
    });
    each_option(carried, "schemars", |meta| {
        if meta.path.is_ident("rename") {
            errors.at(
                &meta.path,
                "the schema would have a name that serde does not read: write `#[param(name = \"…\")]`",
            );
        }
        Ok(())
    });
}

/// Says whether a parameter has attributes of serde or schemars.
fn has_field_attributes(carried: &[Attribute]) -> bool {
    carried.iter().any(|attribute| !attribute.path().is_ident("doc"))
}

/// Reports a context that is taken in a way that does not work.
fn refuse_context(ty: &Type, errors: &mut Errors) -> bool {
    let message = match ty {
        Type::Reference(reference) if is_path(&reference.elem, "ToolContext") => {
            "the context is shared by the calls of a batch: take `&ToolContext`"
        }
        owned if is_path(owned, "ToolContext") => "take the context by reference: `&ToolContext`",
        wrapped if mentions(wrapped.to_token_stream(), &Ident::new("ToolContext", Span::call_site())) => {
            "the context is always there, and borrowed by the call: take `&ToolContext`"
        }
        _ => return false,
    };
    errors.at(ty, message);
    true
}

/// The argument struct of one tool.
pub(crate) struct Input {
    /// The items: the struct, and the functions that make its defaults.
    pub(crate) items: TokenStream,
    /// What the struct counts on.
    pub(crate) conditions: Conditions,
    /// The type, with inferred lifetime and the generics of the `impl`.
    pub(crate) ty: TokenStream,
    /// The pattern that takes the struct apart into variables named like the parameters.
    pub(crate) pattern: TokenStream,
}

/// The `impl` around a method: what `Self` and its type parameters mean in a parameter's type.
#[derive(Clone, Copy)]
pub(crate) struct EnclosingImpl<'a> {
    pub(crate) self_ty: &'a Type,
    pub(crate) generics: &'a Generics,
}

impl EnclosingImpl<'_> {
    /// The generics for a function outside of the `impl` that does what a method of it could.
    pub(crate) fn outside(self) -> Generics {
        let Self { self_ty, generics } = self;
        let mut generics = generics.clone();
        SelfType(self_ty).visit_generics_mut(&mut generics);
        if !generics.params.is_empty() {
            let shared = syn::parse_quote!(#self_ty: ::core::marker::Send + ::core::marker::Sync + 'static);
            generics.make_where_clause().predicates.push(shared);
        }
        generics
    }
}

impl Input {
    /// Writes the struct; `None` where the model fills in nothing.
    pub(crate) fn new<'p>(
        parameters: impl Iterator<Item = &'p Parameter>,
        enclosing: Option<EnclosingImpl<'_>>,
        krate: &TokenStream,
    ) -> Option<Self> {
        let mut parameters: Vec<Parameter> = parameters.cloned().collect();
        if parameters.is_empty() {
            return None;
        }
        if let Some(enclosing) = enclosing {
            for parameter in &mut parameters {
                SelfType(enclosing.self_ty).visit_type_mut(&mut parameter.ty);
                if let Some(default) = &mut parameter.options.default {
                    SelfType(enclosing.self_ty).write_out(default);
                }
            }
        }
        let borrow = parameters.iter().any(Parameter::borrows);
        let used = used_generics(&parameters, enclosing.map(|enclosing| enclosing.generics));
        if let Some(enclosing) = enclosing {
            let own = used.as_ref().map(names).unwrap_or_default();
            let foreign: Vec<&Ident> = names(enclosing.generics).into_iter().filter(|n| !own.contains(n)).collect();
            for parameter in &mut parameters {
                if let Some(default) = &mut parameter.options.default {
                    refuse_foreign_generics(default, &foreign);
                }
            }
        }
        let mut generics = used.clone().unwrap_or_default();
        if borrow {
            let lifetime = Lifetime::new("'__arguments", Span::call_site());
            generics.params.insert(0, GenericParam::Lifetime(syn::parse_quote!(#lifetime)));
        }
        let arguments: Vec<TokenStream> = generics
            .params
            .iter()
            .map(|parameter| match parameter {
                GenericParam::Lifetime(_) => quote!('_),
                GenericParam::Type(parameter) => {
                    let ident = &parameter.ident;
                    quote!(#ident)
                }
                GenericParam::Const(parameter) => {
                    let ident = &parameter.ident;
                    quote!(#ident)
                }
            })
            .collect();
        // The struct has the bounds of the `impl`; derived ones besides them would be ambiguous.
        let bound = used.is_some().then(|| quote!(#[serde(bound = "")] #[schemars(bound = "")]));
        let (fields, defaults): (Vec<_>, Vec<_>) =
            parameters.iter().map(|parameter| parameter.field(used.as_ref())).unzip();
        let serde = attributes::path_text(&quote!(#krate::__private::serde));
        let schemars = attributes::path_text(&quote!(#krate::__private::schemars));
        let conditions = Conditions::new(parameters.iter().filter_map(Parameter::condition));
        conditions.add_to(generics.make_where_clause());
        let where_clause = &generics.where_clause;
        let names = parameters.iter().map(|parameter| &parameter.ident);
        Some(Self {
            items: quote! {
                #[derive(__private::serde::Deserialize, __private::schemars::JsonSchema)]
                #[serde(crate = #serde)]
                #[schemars(crate = #schemars)]
                #bound
                struct __Input #generics #where_clause { #(#fields)* }
                #(#defaults)*
            },
            conditions,
            ty: quote!(__Input<#(#arguments),*>),
            pattern: quote!(__Input { #(#names),* }),
        })
    }
}

/// The names of types and constants.
fn names<'g>(generics: &'g Generics) -> Vec<&'g Ident> {
    let own = |parameter: &'g GenericParam| match parameter {
        GenericParam::Lifetime(_) => None,
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
    };
    generics.params.iter().filter_map(own).collect()
}

/// Replaces a default that depends on what the struct does not know by an error.
fn refuse_foreign_generics(default: &mut Expr, foreign: &[&Ident]) {
    if let Some(name) = foreign.iter().find(|name| mentions(default.to_token_stream(), name)) {
        let message = format!(
            "a default can depend on `{name}` only where the type of a parameter does: take an `Option` and \
             choose the value in the body"
        );
        *default = Expr::Verbatim(syn::Error::new_spanned(&*default, message).to_compile_error());
    }
}

/// Says whether a name occurs in tokens, however deep.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

/// The generics of the `impl` that the parameters' types mention, with their bounds.
fn used_generics(parameters: &[Parameter], all: Option<&Generics>) -> Option<Generics> {
    let all = all?;
    let mut mentioned = Mentioned::default();
    for parameter in parameters {
        mentioned.visit_type_mut(&mut parameter.ty.clone());
    }
    let mut used = Generics::default();
    for parameter in &all.params {
        let ident = match parameter {
            GenericParam::Lifetime(_) => continue,
            GenericParam::Type(parameter) => &parameter.ident,
            GenericParam::Const(parameter) => &parameter.ident,
        };
        if mentioned.0.contains(ident) {
            used.params.push(parameter.clone());
        }
    }
    if used.params.is_empty() {
        return None;
    }
    if let Some(clause) = &all.where_clause {
        for predicate in &clause.predicates {
            let mut in_predicate = Mentioned::default();
            in_predicate.visit_where_predicate_mut(&mut predicate.clone());
            let concerns_others = all
                .type_params()
                .any(|other| in_predicate.0.contains(&other.ident) && !mentioned.0.contains(&other.ident));
            if !concerns_others && all.type_params().any(|own| in_predicate.0.contains(&own.ident)) {
                used.make_where_clause().predicates.push(predicate.clone());
            }
        }
    }
    Some(used)
}

#[derive(Default)]
struct Mentioned(Vec<Ident>);

impl VisitMut for Mentioned {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        self.0.push(ident.clone());
    }
}

/// Puts the type of the `impl` in the place of `Self`, which a nested struct cannot say.
struct SelfType<'a>(&'a Type);

impl SelfType<'_> {
    /// Does the same in an expression, which may hide `Self` in the tokens of a macro.
    fn write_out(&self, value: &mut Expr) {
        let tokens = value.to_token_stream();
        if mentions(tokens.clone(), &Ident::new("Self", Span::call_site())) {
            *value = Expr::Verbatim(self.in_tokens(tokens));
        }
    }

    fn in_tokens(&self, tokens: TokenStream) -> TokenStream {
        let own = self.0;
        let mut written = TokenStream::new();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(name) if name == "Self" => written.extend(match tokens.peek() {
                    Some(TokenTree::Punct(next)) if next.as_char() == ':' => quote_spanned!(name.span()=> <#own>),
                    _ => quote!(#own),
                }),
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.in_tokens(group.stream()));
                    inner.set_span(group.span());
                    written.extend([TokenTree::Group(inner)]);
                }
                other => written.extend([other]),
            }
        }
        written
    }
}

impl VisitMut for SelfType<'_> {
    /// The length of an array may be a constant of the type.
    fn visit_expr_mut(&mut self, value: &mut Expr) {
        self.write_out(value);
    }

    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Path(TypePath { qself: None, path, .. }) = ty
            && path.segments.first().is_some_and(|segment| segment.ident == "Self")
        {
            let own = self.0.clone();
            if path.segments.len() == 1 {
                *ty = own;
            } else {
                let rest: Vec<_> = path.segments.iter().skip(1).cloned().collect();
                *ty = syn::parse_quote!(<#own>::#(#rest)::*);
            }
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
