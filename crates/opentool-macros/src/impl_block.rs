//! `#[toolbox]` on an `impl` block.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Expr, ImplItem, ImplItemFn, ItemImpl, Lifetime, TypeReference};

use crate::attributes;
use crate::declaration::Declaration;
use crate::errors::Errors;
use crate::input::EnclosingImpl;
use crate::options::{ToolOptions, ToolboxOptions};
use crate::signature::ToolSignature;

/// Keeps the block and adds an implementation of the trait that knows its methods as tools.
pub(crate) fn expand(options: TokenStream, item: TokenStream, krate: &TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(_) => {
            let span = item.into_iter().next().map_or_else(proc_macro2::Span::call_site, |t| t.span());
            return syn::Error::new(span, "`#[toolbox]` belongs on an `impl` block of a type").to_compile_error();
        }
    };
    let mut errors = Errors::default();
    let options = ToolboxOptions::parse(options, &mut errors);
    let krate = match &options.krate {
        Some(path) => quote!(#path),
        None => krate.clone(),
    };
    if let Some((path, _)) = &block.trait_ {
        errors.at(path, "`#[toolbox]` belongs on a type's own `impl` block; call the trait's methods from tools there");
    }
    let borrows = refuse_borrowed_state(&block, &mut errors);
    let methods = read_methods(&mut block, &mut errors);
    if methods.is_empty() {
        errors.at(&block.self_ty, "a toolbox needs tools: write `#[tool]` on at least one method");
    }
    refuse_equal_names(&methods, &mut errors);
    if let Err(error) = errors.into_result() {
        let error = error.to_compile_error();
        // The toolbox exists all the same, so that its uses cause no further errors.
        let stub = implement(&block, &krate, &quote!(::core::unimplemented!()));
        let stub = (block.trait_.is_none() && !borrows).then_some(stub);
        return quote!(#block #error #stub);
    }

    let self_ty = &*block.self_ty;
    let enclosing = EnclosingImpl { self_ty, generics: &block.generics };
    let declarations = methods.iter().map(|Method { conditions, declaration, function }| {
        let declared = declaration.emit(function, Some(enclosing), &krate);
        quote!(#(#conditions)* tools.push(#declared);)
    });
    let title = optional(options.title);
    let version = optional(options.version);
    let count = methods.len();
    let implementation = implement(
        &block,
        &krate,
        &quote! {
            let mut tools = ::std::vec::Vec::with_capacity(#count);
            #(#declarations)*
            #krate::__private::Declarations { title: #title, version: #version, tools }
        },
    );
    quote!(#block #implementation)
}

/// Refuses the lifetimes of a type, and says whether there were any.
fn refuse_borrowed_state(block: &ItemImpl, errors: &mut Errors) -> bool {
    let mut places: Vec<TokenStream> = block.generics.lifetimes().map(ToTokens::to_token_stream).collect();
    let mut borrowed = Borrowed(&mut places);
    borrowed.visit_type_mut(&mut block.self_ty.clone());
    for place in &places {
        errors.at(place, "tools may outlive every borrow: the type must own what it uses, or share it by `Arc`");
    }
    !places.is_empty()
}

/// Finds the lifetimes of a type that have no name; those that have one are declared by the `impl`.
struct Borrowed<'a>(&'a mut Vec<TokenStream>);

impl VisitMut for Borrowed<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            self.0.push(lifetime.to_token_stream());
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            self.0.push(reference.to_token_stream());
        } else {
            visit_mut::visit_type_reference_mut(self, reference);
        }
    }
}

/// The implementation of the trait, whose one method has this body.
fn implement(block: &ItemImpl, krate: &TokenStream, body: &TokenStream) -> TokenStream {
    let self_ty = &block.self_ty;
    let (impl_generics, _, where_clause) = block.generics.split_for_impl();
    let given = where_clause.map(|clause| &clause.predicates).into_iter().flatten();
    // A type without parameters is what it is; the trait's own bounds say so better than a condition would.
    let bounds = (!block.generics.params.is_empty())
        .then(|| quote!(where #(#given,)* Self: ::core::marker::Send + ::core::marker::Sync + 'static,));
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::DeclaredTools for #self_ty
        #bounds
        {
            fn declare() -> #krate::__private::Declarations<Self> {
                #body
            }
        }
    }
}

fn optional(value: Option<Expr>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(::core::convert::Into::into(#value))),
        None => quote!(::core::option::Option::None),
    }
}

struct Method {
    conditions: Vec<Attribute>,
    declaration: Declaration,
    function: syn::Ident,
}

fn read_methods(block: &mut ItemImpl, errors: &mut Errors) -> Vec<Method> {
    let mut methods = Vec::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let marks = attributes::take(&mut method.attrs, "tool");
        // Its author imported the attribute, so it stays in use; what it says has been read.
        method.attrs.extend(marks.first().map(|mark| {
            let path = mark.path();
            syn::parse_quote!(#[#path(__declared)])
        }));
        match marks.as_slice() {
            [] => refuse_stray_params(method, errors),
            [mark, more @ ..] => {
                for second in more {
                    errors.at(second, "a method is marked with one `#[tool(…)]`");
                }
                methods.push(read_method(mark, method, errors));
            }
        }
    }
    methods
}

fn read_method(mark: &Attribute, method: &mut ImplItemFn, errors: &mut Errors) -> Method {
    let options = ToolOptions::from_attribute(mark, errors);
    if let Some(path) = &options.krate {
        errors.at(path, "the crate's path belongs in `#[toolbox(crate = …)]`, once");
    }
    let signature = ToolSignature::read(&mut method.sig, errors);
    Method {
        conditions: attributes::conditions(&method.attrs),
        declaration: Declaration::new(options, &method.attrs, signature, errors),
        function: method.sig.ident.clone(),
    }
}

/// A `#[param]` on a method without `#[tool]` would otherwise be reported as an unknown attribute.
fn refuse_stray_params(method: &mut ImplItemFn, errors: &mut Errors) {
    for input in &mut method.sig.inputs {
        if let syn::FnArg::Typed(typed) = input
            && let Some(param) = attributes::take(&mut typed.attrs, "param").first()
        {
            errors.at(param, "`#[param]` has no meaning here: write `#[tool]` on the method");
        }
    }
}

/// Methods under a `cfg` may be each other's replacements; whether two are there is seen when the tools are.
fn refuse_equal_names(methods: &[Method], errors: &mut Errors) {
    let mut seen = HashMap::new();
    for Method { declaration, function, .. } in methods.iter().filter(|method| method.conditions.is_empty()) {
        if let Some(first) = seen.insert(declaration.name.value(), function) {
            errors.at(
                &declaration.name,
                format!(
                    "`{first}` and `{function}` are both named `{}`: tools of one toolbox need \
                     different names",
                    declaration.name.value()
                ),
            );
        }
    }
}
