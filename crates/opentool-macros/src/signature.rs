//! The signature of a tool, and what no tool can have.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{FnArg, GenericParam, Ident, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type, WherePredicate};

use crate::errors::Errors;
use crate::input::Parameter;
use crate::types::{Unsuitable, is_context, is_path, is_static, ungrouped};

/// A signature that can be called with JSON.
pub(crate) struct ToolSignature {
    pub(crate) ident: Ident,
    pub(crate) is_async: bool,
    pub(crate) has_receiver: bool,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) result: Returns,
}

/// One place of the parameter list.
pub(crate) enum Argument {
    /// `&ToolContext`.
    Context,
    /// Something that the model fills in.
    Parameter(Box<Parameter>),
}

/// What comes back.
pub(crate) enum Returns {
    /// A type that outlives the call.
    Owned(Box<Type>),
    /// `&str` with the lifetime of an argument or of `self`, which is copied.
    BorrowedText,
}

impl Returns {
    /// The type whose schema is the result's.
    pub(crate) fn schema_type(&self) -> TokenStream {
        match self {
            Self::Owned(ty) => quote!(#ty),
            Self::BorrowedText => quote!(::std::string::String),
        }
    }
}

impl ToolSignature {
    /// Reads a signature and takes our attributes off its parameters.
    pub(crate) fn read(signature: &mut Signature, errors: &mut Errors) -> Self {
        refuse_qualifiers(signature, errors);
        let mut arguments = Vec::new();
        let mut contexts = 0;
        let mut has_receiver = false;
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    has_receiver = true;
                    check_receiver(receiver, errors);
                }
                FnArg::Typed(typed) if is_context(&ungrouped(&typed.ty)) => {
                    contexts += 1;
                    if contexts > 1 {
                        errors.at(typed, "a tool takes one `&ToolContext`");
                    }
                    arguments.push(Argument::Context);
                }
                FnArg::Typed(typed) => {
                    if let Some(parameter) = Parameter::read(typed, errors) {
                        arguments.push(Argument::Parameter(Box::new(parameter)));
                    }
                }
            }
        }
        refuse_equal_parameters(&arguments, errors);
        Self {
            ident: signature.ident.clone(),
            is_async: signature.asyncness.is_some(),
            has_receiver,
            arguments,
            result: read_result(&signature.output, errors),
        }
    }

    /// Where errors about the type of the result point to.
    pub(crate) fn result_span(&self) -> Span {
        match &self.result {
            Returns::Owned(ty) if !matches!(&**ty, Type::Tuple(unit) if unit.elems.is_empty()) => ty.span(),
            _ => self.ident.span(),
        }
    }

    /// The parameters that the model fills in.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Context => None,
            Argument::Parameter(parameter) => Some(&**parameter),
        })
    }

    /// The name that a model sees where no other is given.
    pub(crate) fn tool_name(&self) -> String {
        let name = self.ident.to_string();
        name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
    }
}

fn refuse_qualifiers(signature: &Signature, errors: &mut Errors) {
    for parameter in &signature.generics.params {
        match parameter {
            GenericParam::Lifetime(_) => {}
            GenericParam::Type(_) | GenericParam::Const(_) => errors.at(
                parameter,
                "a tool cannot be generic, since its schema is written once: \
                 name the type, or put the parameter on the `impl` of a `#[toolbox]`",
            ),
        }
    }
    if let Some(clause) = &signature.generics.where_clause {
        for predicate in &clause.predicates {
            if !matches!(predicate, WherePredicate::Lifetime(_)) {
                errors.at(predicate, "a tool cannot have bounds on types; put them on the `impl`");
            }
        }
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        errors.at(unsafety, "a tool cannot be `unsafe`: the model cannot uphold its conditions");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a tool is an ordinary Rust function, without an `extern` ABI");
    }
    if let Some(variadic) = &signature.variadic {
        errors.at(variadic, "a tool has a fixed list of parameters; take a `Vec<T>` instead");
    }
}

/// Two parameters of one name could never both be filled in.
fn refuse_equal_parameters(arguments: &[Argument], errors: &mut Errors) {
    let mut seen = HashMap::new();
    for argument in arguments {
        let Argument::Parameter(parameter) = argument else { continue };
        let Some(name) = parameter.name() else { continue };
        if let Some(first) = seen.insert(name.clone(), &parameter.ident) {
            let second = &parameter.ident;
            errors.at(
                second,
                format!(
                    "`{first}` and `{second}` are both named `{name}` for the model: parameters of one tool need \
                     different names"
                ),
            );
        }
    }
}

fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    const SHARED: &str = "calls of one batch run concurrently: take `&self` and keep what changes in a \
                          `Mutex`, an atomic or a channel";
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(_, _, Some(_)) => errors.at(receiver, SHARED),
        ReceiverKind::Value => {
            errors.at(receiver, "a tool is called more than once: take `&self` instead of `self`");
        }
        _ => errors.at(receiver, "a tool takes `&self` or no receiver"),
    }
}

fn read_result(output: &ReturnType, errors: &mut Errors) -> Returns {
    let ReturnType::Type(_, ty) = output else {
        return Returns::Owned(syn::parse_quote!(()));
    };
    let ty = ungrouped(ty);
    if let Type::Reference(reference) = &ty
        && is_path(&reference.elem, "str")
        && !is_static(reference)
    {
        return Returns::BorrowedText;
    }
    Unsuitable::in_result(&ty, errors);
    Returns::Owned(Box::new(ty))
}
