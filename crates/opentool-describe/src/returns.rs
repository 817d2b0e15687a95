//! From what a prototype returns to the return value of a document.

use opentool_spec::{CType, CTypeName, DynReturn, DynSchema, SchemaType};

use crate::ctype::{Type, TypeKind};
use crate::draft::{FunctionDraft, constants, one_of, seen_as};
use crate::records::RecordRole;
use crate::words;

impl FunctionDraft<'_, '_> {
    pub(crate) fn returned(&mut self) -> Result<(), String> {
        let kind = &self.signature.returns;
        let what = format!("returns `{}`", kind.declare(""));
        if kind.is_void() {
            return Ok(());
        }
        let mut review = Vec::new();
        let mut returns = if let Some(scalar) = kind.scalar() {
            self.returned_number(kind, scalar)
        } else if let Some(key) = kind.record() {
            let schema = self.reference(&key).ok_or_else(|| format!("{what}, a struct by value"))?;
            let mut returns = DynReturn::new(&self.result, schema);
            returns.extra.insert("x-byValue".to_owned(), true.into());
            returns
        } else if let Some(key) = self.records.behind(kind) {
            if self.records.role(&key) == Some(RecordRole::Value) {
                let schema = self.reference(&key).ok_or_else(|| format!("{what}, a struct by value"))?;
                DynReturn::new(&self.result, schema)
            } else {
                if self.records.has_fields(&key) {
                    review.push("the struct is given as a handle: its fields are not visible".to_owned());
                }
                self.made.makes.insert(key.clone());
                let schema = DynSchema::new(SchemaType::String, CType::pointer(CTypeName::Void));
                let mut returns = DynReturn::new(&self.result, schema);
                returns.extra.insert("x-handle".to_owned(), self.records.name(&key).into());
                returns
            }
        } else if let Some(buffer) = self.given_back(kind) {
            self.of_function
                .push(format!("the address that it returns is taken to be that of `{buffer}`, and is left out"));
            return Ok(());
        } else {
            let target = kind.pointee().ok_or_else(|| format!("{what}, which the spec has no type for"))?;
            self.returned_pointer(&target, &what, &mut review)?
        };
        if let Some(said) = self.comment.and_then(|comment| comment.returns.clone()) {
            returns.description = Some(match returns.description.take() {
                Some(known) => format!("{said} {known}"),
                None => said,
            });
        }
        if !review.is_empty() {
            let reason = review.join("; ");
            returns.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(self.result.clone()), reason));
        }
        self.made.function.returns = Some(returns);
        Ok(())
    }

    /// The buffer whose address a function of bytes gives back: `SHA256(data, length, digest)`.
    fn given_back(&self, kind: &Type) -> Option<String> {
        let target = kind.pointee().filter(|target| target.is_bytes() && !target.is_text() && !target.is_const)?;
        let is_buffer = |index: &usize| {
            let role = self.roles.buffers[*index].as_ref().is_some_and(|role| !role.goes_in);
            let same =
                self.signature.parameters[*index].1.pointee().is_some_and(|other| other.scalar() == target.scalar());
            role && same
        };
        (0..self.signature.parameters.len()).find(is_buffer).map(|index| self.names[index].clone())
    }

    fn returned_number(&self, kind: &Type, scalar: CTypeName) -> DynReturn {
        let mut returns = DynReturn::new(&self.result, DynSchema::new(seen_as(scalar), CType::value(scalar)));
        if let Some(enumeration) = kind.enumeration() {
            returns.description = one_of(&enumeration);
            if let Some((values, is_flags)) = constants(&enumeration) {
                returns.extra.insert("x-values".to_owned(), values.into());
                if is_flags {
                    returns.extra.insert("x-flags".to_owned(), true.into());
                }
            }
        }
        returns
    }

    fn returned_pointer(&self, target: &Type, what: &str, review: &mut Vec<String>) -> Result<DynReturn, String> {
        if target.is_void() {
            return Err(format!("{what}, an address of unknown content"));
        }
        if target.is_function() {
            return Err(format!("{what}, a function"));
        }
        if target.is_bytes() {
            let mut returns = DynReturn::new(
                &self.result,
                DynSchema::new(SchemaType::String, CType::pointer(target.scalar().unwrap_or(CTypeName::Char))),
            );
            let freeing = self.freeing.iter().find(|function| self.evidence.names(function));
            // What the function got as a buffer, it may give back.
            let gives_back = self.signature.parameters.first().is_some_and(|(_, first)| {
                first.pointee().is_some_and(|first| first.is_text() && !first.is_const) && target.is_text()
            });
            match freeing {
                Some(free) if !target.is_const => {
                    returns.extra.insert("x-free".to_owned(), free.clone().into());
                }
                _ if !target.is_const && !gives_back => review.push(self.who_frees("the text")),
                _ => {}
            }
            if !target.is_text() || words::gives_bytes(self.name) {
                review.push("it is taken as text that ends with a NUL: where it holds other bytes, say `x-encoding` and `x-lengthParam`".to_owned());
            }
            return Ok(returns);
        }
        match target.scalar() {
            Some(scalar) => {
                review.push(
                    "the pointer is taken to point to one value: where it is an array, say `\"type\": \"array\"` and \
                     `x-size`"
                        .to_owned(),
                );
                Ok(DynReturn::new(&self.result, DynSchema::new(seen_as(scalar), CType::pointer(scalar))))
            }
            None => Err(match target.resolved().kind {
                TypeKind::Pointer(_) | TypeKind::Array(..) => format!("{what}, a pointer to a pointer"),
                _ => format!("{what}, which the spec has no type for"),
            }),
        }
    }
}
