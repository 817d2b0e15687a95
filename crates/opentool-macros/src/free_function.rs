//! `#[tool]` on a function.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{FnArg, Ident, ItemFn, Signature};

use crate::attributes;
use crate::declaration::Declaration;
use crate::errors::Errors;
use crate::input::mentions;
use crate::options::ToolOptions;
use crate::signature::ToolSignature;

/// Keeps the function and adds a type of the same name that makes the tool.
pub(crate) fn expand(options: TokenStream, item: TokenStream, krate: &TokenStream) -> TokenStream {
    if options.to_string() == "__declared" {
        return item;
    }
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let span = item.into_iter().next().map_or_else(proc_macro2::Span::call_site, |t| t.span());
            return syn::Error::new(
                span,
                "`#[tool]` belongs on a function with a body; for the methods of a type write \
                 `#[toolbox]` on its `impl` and `#[tool]` on the methods",
            )
            .to_compile_error();
        }
    };
    if let Some(place) = sign_of_impl(&function.sig) {
        let message = "a method becomes a tool together with its `impl`: write `#[toolbox]` on the `impl` block";
        let error = syn::Error::new_spanned(place, message).to_compile_error();
        // Removes our attributes of the parameters, which the compiler does not know.
        ToolSignature::read(&mut function.sig, &mut Errors::default());
        return quote!(#function #error);
    }
    let mut errors = Errors::default();
    let options = ToolOptions::parse(options, &mut errors);
    let krate = match &options.krate {
        Some(path) => quote!(#path),
        None => krate.clone(),
    };
    let signature = ToolSignature::read(&mut function.sig, &mut errors);
    let declaration = Declaration::new(options, &function.attrs, signature, &mut errors);
    let ident = &function.sig.ident;
    let (declared, error) = match errors.into_result() {
        Ok(()) => (declaration.emit(ident, None, &krate), None),
        // The tool exists all the same, so that its uses cause no further errors.
        Err(error) => (quote!({ ::core::unimplemented!() }), Some(error.to_compile_error())),
    };
    let conditions = attributes::conditions(&function.attrs);
    let visibility = &function.vis;
    // An empty enum lives among the types only, so that the function keeps its name among the values.
    quote! {
        #function
        #error

        #(#conditions)*
        /// The function of this name as a tool.
        #[allow(non_camel_case_types, unreachable_pub)]
        #[derive(Debug)]
        #visibility enum #ident {}

        #(#conditions)*
        #[allow(unreachable_pub)]
        impl #ident {
            /// Makes the tool, for a toolbox or a request.
            #visibility fn tool() -> #krate::FnTool {
                Self::__declare().bind(&::std::sync::Arc::new(()))
            }

            /// Makes the definition alone, as a model sees it.
            #[allow(dead_code)]
            #visibility fn definition() -> ::core::result::Result<#krate::ToolDefinition, #krate::DefinitionError> {
                Self::__declare().definition()
            }

            fn __declare() -> #krate::__private::Declaration<()> #declared
        }
    }
}

/// What shows that a function is inside an `impl`, which the compiler does not tell an attribute.
fn sign_of_impl(signature: &Signature) -> Option<TokenStream> {
    let own = Ident::new("Self", Span::call_site());
    let inputs = signature.inputs.iter().map(|input| (matches!(input, FnArg::Receiver(_)), input.to_token_stream()));
    let output = (false, signature.output.to_token_stream());
    inputs.chain([output]).find_map(|(receiver, tokens)| (receiver || mentions(tokens.clone(), &own)).then_some(tokens))
}
