//! Which types can cross from a model's text into a call, and back.

use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{
    GenericArgument, Ident, Lifetime, PathArguments, PathSegment, Type, TypeImplTrait, TypeParamBound, TypeReference,
    TypeTraitObject,
};

use crate::errors::Errors;

/// Where a type is, which decides how its errors are worded.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Argument,
    Result,
}

/// Finds the parts of a type that cannot cross.
pub(crate) struct Unsuitable<'a> {
    errors: &'a mut Errors,
    place: Place,
    /// Whether text may be borrowed here: for a parameter itself and for what is in its `Option`.
    borrowable: bool,
    /// Whether the author says to serde how the argument is read.
    has_field_attributes: bool,
}

impl<'a> Unsuitable<'a> {
    /// Looks at the type of a parameter.
    pub(crate) fn in_argument(ty: &Type, has_field_attributes: bool, errors: &'a mut Errors) {
        Self { errors, place: Place::Argument, borrowable: true, has_field_attributes }.visit_type_mut(&mut ty.clone());
    }

    /// Looks at the type of a result.
    pub(crate) fn in_result(ty: &Type, errors: &'a mut Errors) {
        Self { errors, place: Place::Result, borrowable: false, has_field_attributes: false }
            .visit_type_mut(&mut ty.clone());
    }

    fn objection(&self, ty: &Type) -> Option<String> {
        match (ty, self.place) {
            (Type::Ptr(_), _) => Some("a pointer cannot be sent to a model".to_owned()),
            (_, Place::Argument) => self.objection_to_argument(ty),
            (_, Place::Result) => objection_to_result(ty),
        }
    }

    fn objection_to_argument(&self, ty: &Type) -> Option<String> {
        let message = match ty {
            // What a reference leads to may have no owned form at all.
            Type::Reference(reference) => self.objection_to_unreadable(&reference.elem).unwrap_or_else(|| {
                let context = if may_be_context(reference) {
                    "; the context is known by its name, `&ToolContext`, and by no alias"
                } else {
                    ""
                };
                format!("{}{context}", self.advice(ty))
            }),
            _ if borrows_as_cow(ty) => self.advice(ty),
            Type::Slice(_) if self.borrowable => {
                format!("a slice has no size of its own: take `{}`", pretty(&owner(ty.clone())))
            }
            _ if self.borrowable && is_path(ty, "str") => "`str` has no size of its own: take `&str`".to_owned(),
            Type::TraitObject(_) | Type::FnPtr(_) if self.has_field_attributes => return None,
            _ => return self.objection_to_unreadable(ty),
        };
        Some(message)
    }

    /// Objects to what no text can say.
    fn objection_to_unreadable(&self, ty: &Type) -> Option<String> {
        let message = match ty {
            Type::Reference(reference) => return self.objection_to_unreadable(&reference.elem),
            Type::ImplTrait(_) => "`impl Trait` has no schema: name a type that implements it",
            Type::TraitObject(_) => "a trait object cannot be read from JSON: name a type that implements the trait",
            Type::FnPtr(_) => "a function cannot be read from JSON: take an enum, say, and choose the function by it",
            _ => return None,
        };
        Some(message.to_owned())
    }

    /// What to take instead of something borrowed.
    fn advice(&self, ty: &Type) -> String {
        let owned = owned(ty);
        let mutable = matches!(ty, Type::Reference(reference) if reference.mutability.is_some());
        let take =
            if self.borrowable && !mutable && is_path(&owned, "String") { "&str".to_owned() } else { pretty(&owned) };
        if matches!(ty, Type::Reference(reference) if is_static(reference) && is_path(&reference.elem, "str")) {
            return format!("an argument lives as long as its call: take `{take}`");
        }
        format!(
            "an argument is read from a model's text, so that only `&str`, `Option<&str>` and `&ToolContext` can be \
             borrowed: take `{take}`"
        )
    }
}

impl VisitMut for Unsuitable<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Some(message) = self.objection(ty) {
            self.errors.at(ty, message);
            return;
        }
        let outside = self.borrowable;
        self.borrowable = outside && is_path(ty, "Option");
        visit_mut::visit_type_mut(self, ty);
        self.borrowable = outside;
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            let message = match self.place {
                Place::Argument => "an argument cannot carry a lifetime: take an owned type",
                Place::Result => "a result outlives the call that made it: return an owned type",
            };
            self.errors.at(lifetime, message);
        }
    }
}

fn objection_to_result(ty: &Type) -> Option<String> {
    let message = match ty {
        Type::Reference(reference) if is_static(reference) => return None,
        Type::Reference(reference) if matches!(&*reference.elem, Type::TraitObject(_) | Type::ImplTrait(_)) => {
            "a result outlives the call that made it: return an owned value instead of a reference"
        }
        Type::Reference(_) => {
            let owned = pretty(&owned(ty));
            return Some(format!("a result outlives the call that made it: return `{owned}` instead of a reference"));
        }
        Type::ImplTrait(TypeImplTrait { bounds, .. }) | Type::TraitObject(TypeTraitObject { bounds, .. })
            if bounds.iter().any(is_future) =>
        {
            "write `async fn` instead of returning a future"
        }
        Type::ImplTrait(_) => "`impl Trait` hides the result's type: name a type that implements `serde::Serialize`",
        _ => return None,
    };
    Some(message.to_owned())
}

fn is_future(bound: &TypeParamBound) -> bool {
    let TypeParamBound::Trait(bound) = bound else { return false };
    bound.path.segments.last().is_some_and(|segment| segment.ident == "Future")
}

/// The type that holds the same and borrows nothing.
fn owned(ty: &Type) -> Type {
    let mut owned = ty.clone();
    Owned.visit_type_mut(&mut owned);
    owned
}

/// Puts what owns the same in the place of everything borrowed.
struct Owned;

impl VisitMut for Owned {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        let borrowed = match &*ty {
            Type::Reference(reference) => Some(&*reference.elem),
            cow if borrows_as_cow(cow) => type_arguments(cow).last(),
            _ => None,
        };
        if let Some(borrowed) = borrowed {
            *ty = owner(borrowed.clone());
        }
    }
}

/// The type that owns what this one is when borrowed.
fn owner(mut borrowed: Type) -> Type {
    match &mut borrowed {
        Type::Slice(slice) => {
            let element = &slice.elem;
            syn::parse_quote!(Vec<#element>)
        }
        Type::Path(path) => {
            match path.path.segments.last_mut() {
                // The owned forms of the latter two are read from bytes, which no model writes.
                Some(last) if ["str", "OsStr", "CStr"].iter().any(|name| last.ident == name) => {
                    syn::parse_quote!(String)
                }
                Some(last) if last.ident == "Path" && last.arguments.is_none() => {
                    last.ident = Ident::new("PathBuf", last.ident.span());
                    borrowed
                }
                _ => borrowed,
            }
        }
        _ => borrowed,
    }
}

/// Says whether a type is a `Cow` of another lifetime than `'static`.
fn borrows_as_cow(ty: &Type) -> bool {
    let lifetime = |argument: &GenericArgument| matches!(argument, GenericArgument::Lifetime(l) if l.ident == "static");
    is_path(ty, "Cow") && !generic_arguments(ty).any(lifetime)
}

/// Says whether a reference may be the context under another name.
fn may_be_context(reference: &TypeReference) -> bool {
    let known = ["String", "str", "Path", "OsStr", "CStr"];
    reference_is_shared(reference)
        && !known.iter().any(|name| is_path(&reference.elem, name))
        && last_segment(&reference.elem).is_some_and(|segment| segment.arguments.is_none())
}

/// A type as its author wrote it, more or less.
fn pretty(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (spaced, close) in [(" :: ", "::"), (" < ", "<"), (" >", ">"), (" ,", ","), (" ;", ";"), ("& ", "&")] {
        text = text.replace(spaced, close);
    }
    text
}

/// A type without the invisible parentheses that `macro_rules!` puts around a `$type:ty`.
pub(crate) fn ungrouped(ty: &Type) -> Type {
    struct Ungroup;
    impl VisitMut for Ungroup {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            while let Type::Group(group) = ty {
                *ty = (*group.elem).clone();
            }
            visit_mut::visit_type_mut(self, ty);
        }
    }
    let mut ty = ty.clone();
    Ungroup.visit_type_mut(&mut ty);
    ty
}

/// Says whether a parameter is the context, by the name of its type.
pub(crate) fn is_context(ty: &Type) -> bool {
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
    is_path(ty, "Option") && type_arguments(ty).next().is_some_and(is_text)
}

/// Says whether the last segment of a type's path is `name`.
pub(crate) fn is_path(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

pub(crate) fn is_static(reference: &TypeReference) -> bool {
    reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static")
}

fn reference_is_shared(reference: &TypeReference) -> bool {
    reference.mutability.is_none()
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The arguments between the angle brackets of a path.
fn generic_arguments(ty: &Type) -> impl Iterator<Item = &GenericArgument> {
    let arguments = match last_segment(ty).map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => Some(arguments.args.iter()),
        _ => None,
    };
    arguments.into_iter().flatten()
}

fn type_arguments(ty: &Type) -> impl Iterator<Item = &Type> {
    generic_arguments(ty).filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
