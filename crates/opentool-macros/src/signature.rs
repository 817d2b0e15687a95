//! What a tool's signature says, and what no tool can have.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericArgument, GenericParam, Ident, Lifetime, Pat, PathArguments, PathSegment, Receiver, ReceiverKind,
    ReturnType, Safety, Signature, Type, TypeReference, WherePredicate,
};

use crate::attributes::Faults;
use crate::input::Parameter;

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
    pub(crate) fn read(signature: &mut Signature, faults: &mut Faults) -> Self {
        refuse_qualifiers(signature, faults);
        let mut arguments = Vec::new();
        let mut contexts = 0;
        let mut has_receiver = false;
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    has_receiver = true;
                    check_receiver(receiver, faults);
                }
                FnArg::Typed(typed) if is_context(&typed.ty) => {
                    contexts += 1;
                    if contexts > 1 {
                        faults.at(typed, "a tool takes one `&ToolContext`");
                    }
                    arguments.push(Argument::Context);
                }
                FnArg::Typed(typed) => {
                    if let Some(parameter) = Parameter::read(typed, faults) {
                        arguments.push(Argument::Parameter(Box::new(parameter)));
                    }
                }
            }
        }
        refuse_equal_parameters(&arguments, faults);
        Self {
            ident: signature.ident.clone(),
            is_async: signature.asyncness.is_some(),
            has_receiver,
            arguments,
            result: read_result(&signature.output, faults),
        }
    }

    /// Where to point when the result's type is at fault.
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

fn refuse_qualifiers(signature: &Signature, faults: &mut Faults) {
    for parameter in &signature.generics.params {
        match parameter {
            GenericParam::Lifetime(_) => {}
            GenericParam::Type(_) | GenericParam::Const(_) => faults.at(
                parameter,
                "a tool cannot be generic, since its schema is written once: \
                 name the type, or put the parameter on the `impl` of a `#[toolbox]`",
            ),
        }
    }
    if let Some(clause) = &signature.generics.where_clause {
        for predicate in &clause.predicates {
            if !matches!(predicate, WherePredicate::Lifetime(_)) {
                faults.at(predicate, "a tool cannot have bounds on types; put them on the `impl`");
            }
        }
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        faults.at(unsafety, "a tool cannot be `unsafe`: the model cannot uphold its conditions");
    }
    if let Some(abi) = &signature.abi {
        faults.at(abi, "a tool is an ordinary Rust function, without an `extern` ABI");
    }
    if let Some(variadic) = &signature.variadic {
        faults.at(variadic, "a tool has a fixed list of parameters; take a `Vec<T>` instead");
    }
}

/// Two parameters of one name could never both be filled in.
fn refuse_equal_parameters(arguments: &[Argument], faults: &mut Faults) {
    let mut seen = HashMap::new();
    for argument in arguments {
        let Argument::Parameter(parameter) = argument else { continue };
        let Some(name) = parameter.name() else { continue };
        if let Some(first) = seen.insert(name.clone(), &parameter.ident) {
            let second = &parameter.ident;
            faults.at(
                second,
                format!(
                    "`{first}` and `{second}` are both named `{name}` for the model: parameters of one tool need \
                     different names"
                ),
            );
        }
    }
}

fn check_receiver(receiver: &Receiver, faults: &mut Faults) {
    const SHARED: &str = "calls of one batch run concurrently: take `&self` and keep what changes in a \
                          `Mutex`, an atomic or a channel";
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(_, _, Some(_)) => faults.at(receiver, SHARED),
        ReceiverKind::Value => {
            faults.at(receiver, "a tool is called more than once: take `&self` instead of `self`");
        }
        _ => faults.at(receiver, "a tool takes `&self` or no receiver"),
    }
}

fn read_result(output: &ReturnType, faults: &mut Faults) -> Returns {
    let ReturnType::Type(_, ty) = output else {
        return Returns::Owned(syn::parse_quote!(()));
    };
    if let Type::Reference(reference) = &**ty
        && is_path(&reference.elem, "str")
        && !is_static(reference)
    {
        return Returns::BorrowedText;
    }
    let mut found = Unsuitable { faults, place: Place::Result };
    found.visit_type_mut(&mut ty.clone());
    Returns::Owned(ty.clone())
}

/// Where a type stands, which decides how its faults are worded.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Argument,
    Result,
}

/// Finds the parts of a type that cannot cross from a model's text into a call, or back.
pub(crate) struct Unsuitable<'a> {
    pub(crate) faults: &'a mut Faults,
    pub(crate) place: Place,
}

impl VisitMut for Unsuitable<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        let message = match (&*ty, self.place) {
            (Type::Reference(reference), Place::Result) if is_static(reference) => None,
            (Type::Reference(reference), place) => Some(reference_advice(reference, place)),
            (Type::ImplTrait(_), Place::Argument) => {
                Some("`impl Trait` has no schema: name a type that implements it".to_owned())
            }
            (Type::ImplTrait(found), Place::Result) => {
                Some(if found.to_token_stream().to_string().contains("Future") {
                    "write `async fn` instead of returning a future".to_owned()
                } else {
                    "`impl Trait` hides the result's type: name a type that implements \
                     `serde::Serialize`"
                        .to_owned()
                })
            }
            (Type::Ptr(_), _) => Some("a pointer cannot be sent to a model".to_owned()),
            _ => None,
        };
        match message {
            Some(message) => self.faults.at(ty, message),
            None => visit_mut::visit_type_mut(self, ty),
        }
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            let message = match self.place {
                Place::Argument => "an argument cannot carry a lifetime: take an owned type",
                Place::Result => "a result outlives the call that made it: return an owned type",
            };
            self.faults.at(lifetime, message);
        }
    }
}

fn reference_advice(reference: &TypeReference, place: Place) -> String {
    let element = &reference.elem;
    match place {
        Place::Result => {
            "a result outlives the call that made it: return an owned value instead of a reference".to_owned()
        }
        Place::Argument => {
            let owned = match &**element {
                Type::Slice(slice) => format!("Vec<{}>", pretty(&slice.elem)),
                Type::Path(_) if is_path(element, "String") => "&str".to_owned(),
                Type::Path(_) if is_path(element, "str") && is_static(reference) => {
                    return "an argument lives as long as its call: take `&str`".to_owned();
                }
                Type::Path(_) if is_path(element, "str") => "String".to_owned(),
                other => pretty(other),
            };
            let context = if reference_is_shared(reference) && may_be_alias(element) {
                "; the context is known by its name, `&ToolContext`, and by no alias"
            } else {
                ""
            };
            format!(
                "an argument is read from a model's text, so that only `&str`, `Option<&str>` and \
                 `&ToolContext` can be borrowed: take `{owned}`{context}"
            )
        }
    }
}

/// Says whether a type may be the context under another name.
fn may_be_alias(ty: &Type) -> bool {
    !is_path(ty, "String")
        && !is_path(ty, "str")
        && matches!(ty, Type::Path(path)
            if path.path.segments.last().is_some_and(|segment| segment.arguments.is_none()))
}

/// A type as its author wrote it, more or less.
fn pretty(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(" :: ", "::").replace(" < ", "<").replace(" >", ">")
}

/// Says whether a parameter is the context, by the name of its type.
fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference)
        if reference_is_shared(reference) && is_path(&reference.elem, "ToolContext"))
}

/// Says whether a type is `&str`, of a lifetime that a call can have.
pub(crate) fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference)
        if reference_is_shared(reference) && !is_static(reference) && is_path(&reference.elem, "str"))
}

/// Says whether a type is `Option<&str>`.
pub(crate) fn is_optional_text(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(PathSegment { ident, arguments: PathArguments::AngleBracketed(arguments) }) = path.path.segments.last()
    else {
        return false;
    };
    ident == "Option" && matches!(arguments.args.first(), Some(GenericArgument::Type(inner)) if is_text(inner))
}

/// Says whether the last segment of a type's path is `name`.
pub(crate) fn is_path(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

fn is_static(reference: &TypeReference) -> bool {
    reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static")
}

fn reference_is_shared(reference: &TypeReference) -> bool {
    reference.mutability.is_none()
}

/// The plain name of a parameter; patterns have none that a model could use.
pub(crate) fn parameter_name(pattern: &Pat, faults: &mut Faults) -> Option<Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(name.ident.clone()),
        Pat::Wild(wild) => {
            faults.at(wild, "a parameter needs a name, since the model fills it in by name");
            None
        }
        other => {
            faults.at(
                other,
                "a parameter needs a plain name, since the model fills it in by name; \
                 take the pattern apart in the body",
            );
            None
        }
    }
}
