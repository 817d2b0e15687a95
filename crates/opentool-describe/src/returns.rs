//! From what a prototype returns to the return value of a document.

use opentool_spec::{CType, CTypeName, DynReturn, DynSchema, SchemaType};

use crate::ctype::TypeKind;
use crate::draft::{FunctionDraft, one_of, seen_as};

impl FunctionDraft<'_, '_> {
    pub(crate) fn returned(&mut self) -> Result<(), String> {
        let kind = &self.signature.returns;
        let what = || format!("returns `{}`", kind.declare(""));
        if kind.is_void() {
            return Ok(());
        }
        let mut name = "result".to_owned();
        while self.names.contains(&name) {
            name.insert_str(0, "the_");
        }
        let mut review = None;
        let mut returns = if let Some(scalar) = kind.scalar() {
            let mut returns = DynReturn::new(&name, DynSchema::new(seen_as(scalar), CType::value(scalar)));
            returns.description = kind.enumeration().and_then(|values| one_of(&values));
            returns
        } else {
            let Some(target) = kind.pointee() else {
                return Err(match kind.resolved().kind {
                    TypeKind::Record(_) => format!("{}, a struct by value", what()),
                    _ => format!("{}, which the spec has no type for", what()),
                });
            };
            if let Some(key) = target.record() {
                if self.handles.has_fields(&key) {
                    review = Some("the struct is given as a handle: its fields are not visible".to_owned());
                }
                self.made.makes.insert(key.clone());
                let mut returns =
                    DynReturn::new(&name, DynSchema::new(SchemaType::String, CType::pointer(CTypeName::Void)));
                returns.extra.insert("x-handle".to_owned(), self.handles.name(&key).into());
                returns
            } else if target.is_void() {
                return Err(format!("{}, an address of unknown content", what()));
            } else if target.is_bytes() {
                if !target.is_const {
                    review = Some(
                        "who frees the text is not known: where the caller must, name the function in `x-free`"
                            .to_owned(),
                    );
                }
                let scalar = target.scalar().unwrap_or(CTypeName::Char);
                DynReturn::new(&name, DynSchema::new(SchemaType::String, CType::pointer(scalar)))
            } else if let Some(scalar) = target.scalar() {
                review = Some(
                    "the pointer is taken to point to one value: where it is an array, say `\"type\": \"array\"` and \
                     `x-size`"
                        .to_owned(),
                );
                DynReturn::new(&name, DynSchema::new(seen_as(scalar), CType::pointer(scalar)))
            } else if target.is_function() {
                return Err(format!("{}, a function", what()));
            } else {
                return Err(format!("{}, a pointer to a pointer", what()));
            }
        };
        if let Some(said) = self.comment.and_then(|comment| comment.returns.clone()) {
            returns.description = Some(match returns.description.take() {
                Some(known) => format!("{said} {known}"),
                None => said,
            });
        }
        if let Some(reason) = review {
            returns.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(name), reason));
        }
        self.made.function.returns = Some(returns);
        Ok(())
    }
}
