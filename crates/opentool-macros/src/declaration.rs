//! What is generated for one tool: a declaration that `opentool-core` binds to its state.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Ident, LitStr};

use crate::docs;
use crate::errors::Errors;
use crate::input::{EnclosingImpl, Input};
use crate::options::{ToolOptions, tool_name};
use crate::signature::{Argument, Returns, ToolSignature};

/// One tool, understood.
pub(crate) struct Declaration {
    pub(crate) name: LitStr,
    description: Option<TokenStream>,
    options: ToolOptions,
    signature: ToolSignature,
}

impl Declaration {
    /// Puts together what attribute, doc comment and signature say.
    pub(crate) fn new(
        options: ToolOptions,
        attributes: &[Attribute],
        signature: ToolSignature,
        errors: &mut Errors,
    ) -> Self {
        let name = match &options.name {
            Some(name) => name.clone(),
            None => {
                let own = LitStr::new(&signature.tool_name(), signature.ident.span());
                tool_name(own.clone()).unwrap_or_else(|_| {
                    errors.at(
                        &signature.ident,
                        format!(
                            "a tool's name matches ^[A-Za-z0-9_-]{{1,64}}$, which `{}` does not: \
                             add `name = \"…\"`",
                            own.value()
                        ),
                    );
                    own
                })
            }
        };
        let description = match &options.description {
            Some(description) => Some(quote!(#description)),
            None => docs::description(attributes),
        };
        Self { name, description, options, signature }
    }

    /// An expression of type `Declaration<Self>`, or `Declaration<()>` of a function, in a block of its own.
    pub(crate) fn emit(
        &self,
        function: &Ident,
        enclosing: Option<EnclosingImpl<'_>>,
        krate: &TokenStream,
    ) -> TokenStream {
        let (state, function) = match enclosing {
            Some(EnclosingImpl { self_ty, .. }) => (quote!(#self_ty), quote!(<#self_ty>::#function)),
            None => (quote!(()), quote!(#function)),
        };
        let declared = self.declared(&state, &function, enclosing, krate);
        let inline = self.options.inline.then(|| quote!(.inline()));
        let describe = self.description.as_ref().map(|text| quote!(.description(#text)));
        let result = self.signature.result.schema_type();
        let give = quote! {
            .output({
                #[allow(unused_imports)]
                use __private::{NestedResult as _, NoSchema as _, ResultSchema as _, ValueSchema as _};
                (&&&&__private::SchemaProbe::<#result>::new()).schema()
            })
        };
        let name_result = self.options.output_name.as_ref().map(|name| quote!(.output_name(#name)));
        let metadata =
            self.options.metadata().map(|setters| quote!(.metadata(__private::ToolMetadata::new() #setters)));
        quote! {
            {
                use #krate::__private;
                // What schemars derives counts on a prelude, which need not be there.
                #[allow(unused_imports)]
                use ::core::{convert::Into as _, option::Option::Some};
                #declared #describe #give #name_result #metadata #inline
            }
        }
    }

    /// The part that needs the traits of the parameters' types.
    fn declared(
        &self,
        state: &TokenStream,
        function: &TokenStream,
        enclosing: Option<EnclosingImpl<'_>>,
        krate: &TokenStream,
    ) -> TokenStream {
        let name = &self.name;
        let form = if self.signature.is_async { quote!(asynchronous) } else { quote!(sync) };
        let input = Input::new(self.signature.parameters(), enclosing, krate);
        let handler = self.handler(state, function, input.as_ref());
        let declaration = quote!(__private::Declaration::<#state>);
        let Some(Input { items, conditions, ty, .. }) = &input else {
            return quote!(#declaration::#form(#name, #handler));
        };
        let body = quote!(#items #declaration::#form(#name, #handler).input::<#ty>());
        let generics = enclosing.map(EnclosingImpl::outside).unwrap_or_default();
        conditions.given_in(body, &quote!(__private::Declaration<#state>), &generics)
    }

    /// The function that reads the arguments, calls the user's, and turns what it returns into an output.
    fn handler(&self, state: &TokenStream, function: &TokenStream, input: Option<&Input>) -> TokenStream {
        let this = Ident::new("this", Span::mixed_site());
        let invocation = Ident::new("invocation", Span::mixed_site());
        let called = Ident::new("called", Span::mixed_site());
        // Errors about the type of the result point to this variable, so it has the span of that type.
        let returned = Ident::new("__returned", self.signature.result_span());
        let read = input
            .map(|Input { ty, pattern, .. }| quote!(let #pattern = __private::read::<#ty>(#invocation.arguments)?;));
        let receiver = self.signature.has_receiver.then(|| quote!(#this,));
        let arguments = self.signature.arguments.iter().map(|argument| match argument {
            Argument::Context => quote!(#invocation.context),
            Argument::Parameter(parameter) => parameter.pass(),
        });
        let wait = self.signature.is_async.then(|| quote!(.await));
        let result = quote!(#called(#receiver #(#arguments),*) #wait);
        let result = match self.signature.result {
            Returns::BorrowedText => quote!(::std::borrow::ToOwned::to_owned(#result)),
            Returns::Owned(_) => result,
        };
        let convert = quote_spanned!(self.signature.result_span()=> (&#returned).kind().convert(#returned));
        let body = quote! {
            #[allow(unused_imports)]
            use __private::{ResultReturn as _, ValueReturn as _};
            let _ = (&#this, &#invocation);
            // Named before the parameters, one of which may have the function's name.
            #[allow(deprecated)]
            let #called = #function;
            #read
            let #returned = #result;
            #convert
        };
        if self.signature.is_async {
            quote! {
                |#this: &#state, #invocation: __private::Invocation<'_>| {
                    ::std::boxed::Box::pin(async move { #body })
                }
            }
        } else {
            quote!(|#this: &#state, #invocation: __private::Invocation<'_>| { #body })
        }
    }
}
