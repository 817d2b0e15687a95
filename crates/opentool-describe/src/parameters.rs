//! From the parameters of prototypes to those of a document.

use std::rc::Rc;

use opentool_spec::{CType, CTypeName, DynParameter, DynSchema, SchemaType};
use serde_json::Value;

use crate::comments::ParameterComment;
use crate::ctype::{Type, TypeKind};
use crate::draft::{FunctionDraft, one_of, seen_as};
use crate::lengths::{Counter, LENGTHS, LENGTHS_OF_TEXT};

/// A parameter of the document while it is written.
struct ParameterDraft {
    parameter: DynParameter,
    review: Option<String>,
}

impl ParameterDraft {
    fn new(name: &str, schema_type: SchemaType, c_type: CType) -> Self {
        Self { parameter: DynParameter::new(name, DynSchema::new(schema_type, c_type)), review: None }
    }

    fn out(mut self) -> Self {
        self.parameter = self.parameter.out();
        self
    }

    fn optional(mut self) -> Self {
        self.parameter.required = false;
        self
    }

    fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.parameter.extra.insert(key.to_owned(), value.into());
        self
    }

    /// How long the value is, by two keys of its schema.
    fn exactly(mut self, [least, most]: [&str; 2], length: u64) -> Self {
        for key in [least, most] {
            self.parameter.schema.extra.insert(key.to_owned(), length.into());
        }
        self
    }

    fn review(mut self, reason: impl Into<String>) -> Self {
        self.review = Some(reason.into());
        self
    }
}

impl FunctionDraft<'_, '_> {
    /// Describes the parameter at an index and, where it is one, its length; returns how many they are.
    pub(crate) fn parameter(&mut self, index: usize) -> Result<usize, String> {
        let kind = &self.signature.parameters[index].1;
        let name = self.names[index].clone();
        if let Some(scalar) = kind.scalar() {
            let mut draft = ParameterDraft::new(&name, seen_as(scalar), CType::value(scalar));
            draft.parameter.description = kind.enumeration().and_then(|values| one_of(&values));
            self.push(index, draft);
            return Ok(1);
        }
        let what = || format!("takes `{}`", kind.declare(&name));
        let Some(target) = kind.pointee() else {
            return Err(match kind.resolved().kind {
                TypeKind::Record(_) => format!("{}, a struct by value", what()),
                TypeKind::Function(_) => format!("{}, a callback", what()),
                TypeKind::VaList => format!("{}, a list of any arguments", what()),
                _ => format!("{}, which the spec has no type for", what()),
            });
        };
        if target.is_function() {
            return Err(format!("{}, a callback", what()));
        }
        if let Some(key) = target.record() {
            return self.record(index, &key, &what()).map(|()| 1);
        }
        if target.pointee().is_some() {
            return self.pointer_to_pointer(index, &target, &what()).map(|()| 1);
        }
        if target.is_bytes() {
            return self.bytes(index, &target, &what());
        }
        match target.scalar() {
            Some(scalar) => Ok(self.scalars(index, &target, scalar)),
            None => Err(format!("{}, which the spec has no type for", what())),
        }
    }

    fn record(&mut self, index: usize, key: &Rc<str>, what: &str) -> Result<(), String> {
        if !self.handles.contains(key) {
            return Err(format!("{what}, a struct that the caller must make"));
        }
        self.made.takes.insert(key.clone());
        let handle = self.handles.name(key);
        let draft = ParameterDraft::new(&self.names[index], SchemaType::String, CType::pointer(CTypeName::Void));
        self.push(index, draft.key("x-handle", handle));
        Ok(())
    }

    fn pointer_to_pointer(&mut self, index: usize, target: &Type, what: &str) -> Result<(), String> {
        let name = self.names[index].clone();
        let Some(inner) = target.pointee().filter(|_| !matches!(target.resolved().kind, TypeKind::Array(..))) else {
            return Err(format!("{what}, an array of arrays"));
        };
        // What is counted, or may not be written to, are many pointers that go in.
        if target.is_const || self.length_after(index, &LENGTHS).is_some_and(|counter| !counter.by_pointer) {
            let of = if inner.record().is_some() { "handles" } else { "texts" };
            return Err(format!("{what}, an array of {of}"));
        }
        if let Some(key) = inner.record().filter(|key| self.handles.contains(key)) {
            self.made.makes.insert(key.clone());
            let handle = self.handles.name(&key);
            let draft = ParameterDraft::new(&name, SchemaType::String, CType::pointer(CTypeName::Void)).out();
            self.push(index, draft.key("x-handle", handle));
            return Ok(());
        }
        if inner.is_bytes() && !inner.is_void() {
            if self.is_counted_before(index) {
                return Err(format!("{what}, an array of texts"));
            }
            // No function returns a handle of this kind, so NULL is all that can be passed.
            let draft = ParameterDraft::new(&name, SchemaType::String, CType::pointer(CTypeName::Void)).optional();
            let mut draft = draft.key("x-handle", "NULL");
            draft.parameter.description = Some("Always NULL.".to_owned());
            let what = what.trim_start_matches("takes ");
            self.push(
                index,
                draft.review(format!("{what} is always passed as NULL: remove the function if it may not be")),
            );
            return Ok(());
        }
        Err(format!("{what}, a pointer to a pointer"))
    }

    /// Text, or bytes with their length.
    fn bytes(&mut self, index: usize, target: &Type, what: &str) -> Result<usize, String> {
        let name = self.names[index].clone();
        let is_text = target.is_text();
        let scalar = if is_text { CTypeName::Char } else { CTypeName::UnsignedChar };
        let draft = ParameterDraft::new(&name, SchemaType::String, CType::pointer(scalar));
        let encoded = |draft: ParameterDraft| if is_text { draft } else { draft.key("x-encoding", "base64") };
        let direction = self.said(index).and_then(|said| said.direction);
        let goes_in = direction.map_or(target.is_const, |(_, out)| !out);
        let counter = self.length_after(index, if goes_in { &LENGTHS_OF_TEXT } else { &LENGTHS });
        let Some(Counter { index: length, by_pointer, is_named }) = counter else {
            if let Some(counter) = self.copied(index, target).filter(|_| !goes_in) {
                return Ok(self.copy(index, encoded(draft.out()), counter, is_text));
            }
            if target.is_void() {
                return Err(format!("{what}, an address without a length"));
            }
            let what = what.trim_start_matches("takes ");
            let fixed = self.signature.parameters[index].1.array_length();
            let taken_as_output = || format!("{what} is taken as output: say `\"isIn\": true` where it is read");
            self.push(index, match (goes_in, fixed) {
                (true, _) if is_text => draft,
                // Callers write every three bytes as four characters.
                (true, Some(length)) => {
                    encoded(draft).exactly(["minLength", "maxLength"], length.div_ceil(3).saturating_mul(4))
                }
                (true, None) => {
                    draft.review(format!("{what} is taken as text: where it holds other bytes, say `x-encoding`"))
                }
                (false, Some(length)) if direction.is_some() => encoded(draft.out()).key("x-size", length),
                (false, Some(length)) => encoded(draft.out()).key("x-size", length).review(taken_as_output()),
                (false, None) => draft.out().key("x-size", 4096).review(format!(
                    "{what} is taken as a buffer of 4096 bytes that the function fills: say in `x-size` how many it may \
                     need, or `\"isIn\": true` where it is read"
                )),
            });
            return Ok(1);
        };
        let counter = self.names[length].clone();
        let counter_kind = &self.signature.parameters[length].1;
        if goes_in && by_pointer {
            // What counts by a pointer may be an output of its own: then the pair is beyond guessing.
            let unsure =
                || format!("whether `{counter}` is its length is not known: if so, name it in `x-lengthParam`");
            self.push(index, if is_text { draft } else { encoded(draft).review(unsure()) });
            return Ok(1);
        }
        if goes_in {
            let draft = encoded(draft).key("x-lengthParam", counter.clone());
            let is_sure = is_named || (!is_text && counter == "n");
            self.push(index, if is_sure { draft } else { draft.review(guessed(&counter)) });
            let scalar = counter_kind.scalar().unwrap_or(CTypeName::Int);
            let draft = ParameterDraft::new(&counter, SchemaType::Integer, CType::value(scalar)).optional();
            self.push_described(
                length,
                draft,
                &format!("The length of `{name}`; it follows from that where it is left out."),
            );
            return Ok(2);
        }
        let draft = encoded(draft.out()).key("x-sizeParam", counter.clone());
        if by_pointer {
            self.push(index, draft.key("x-lengthParam", counter.clone()).review(format!(
                "`{counter}` is taken as the size of the buffer before the call, and the length of its content after it"
            )));
            let scalar = counter_kind.pointee().and_then(|target| target.scalar()).unwrap_or(CTypeName::Int);
            let draft = ParameterDraft::new(&counter, SchemaType::Integer, CType::pointer(scalar)).out();
            self.push_described(
                length,
                draft,
                &format!("The size of the buffer for `{name}`; afterwards, how much of it was used."),
            );
        } else {
            self.push(
                index,
                if is_text {
                    draft
                } else {
                    draft.review(
                        "the whole buffer is given back: where the function says how much it wrote, name that in \
                     `x-lengthParam`",
                    )
                },
            );
            let scalar = counter_kind.scalar().unwrap_or(CTypeName::Int);
            let draft = ParameterDraft::new(&counter, SchemaType::Integer, CType::value(scalar));
            self.push_described(length, draft, &format!("The size of the buffer for `{name}`."));
        }
        Ok(2)
    }

    /// One number behind a pointer, or many with their length.
    fn scalars(&mut self, index: usize, target: &Type, scalar: CTypeName) -> usize {
        let (name, kind) = (self.names[index].clone(), &self.signature.parameters[index].1);
        let what = format!("`{}`", kind.declare(&name));
        let direction = self.said(index).and_then(|said| said.direction);
        let goes_in = direction.map_or(target.is_const, |(_, out)| !out);
        let array = ParameterDraft::new(&name, SchemaType::Array, CType::pointer(scalar));
        if let Some(length) = kind.array_length() {
            let draft = match goes_in {
                true => array.exactly(["minItems", "maxItems"], length),
                false => array.out().key("x-size", length),
            };
            let draft = match direction {
                None if !goes_in => {
                    draft.review(format!("{what} is taken as output: say `\"isIn\": true` where it is read"))
                }
                _ => draft,
            };
            self.push(index, draft);
            return 1;
        }
        if let Some(Counter { index: length, by_pointer: false, is_named }) = self.length_after(index, &LENGTHS) {
            let counter = self.names[length].clone();
            let of_counter = self.signature.parameters[length].1.scalar().unwrap_or(CTypeName::Int);
            let counted = ParameterDraft::new(&counter, SchemaType::Integer, CType::value(of_counter));
            if goes_in {
                let draft = array.key("x-lengthParam", counter.clone());
                let is_sure = is_named || counter == "n";
                self.push(index, if is_sure { draft } else { draft.review(guessed(&counter)) });
                let text = format!("The number of elements of `{name}`; it follows from that where it is left out.");
                self.push_described(length, counted.optional(), &text);
            } else {
                let draft = array.out().key("x-sizeParam", counter.clone());
                self.push(
                    index,
                    match direction {
                        Some(_) => draft,
                        None => draft.review(format!(
                            "{what} is taken as an array of `{counter}` elements that the function fills"
                        )),
                    },
                );
                self.push_described(length, counted, &format!("The number of elements of `{name}`."));
            }
            return 2;
        }
        if let Some(counter) = self.copied(index, target).filter(|_| !goes_in) {
            return self.copy(index, array.out(), counter, false);
        }
        let draft = ParameterDraft::new(&name, seen_as(scalar), CType::pointer(scalar));
        self.push(
            index,
            match (goes_in, direction) {
                (true, Some(_)) => draft,
                (true, None) => draft
                    .review(format!("{what} is taken as one value: where it is an array, say `\"type\": \"array\"`")),
                (false, Some(_)) => draft.out(),
                (false, None) => {
                    draft.out().review(format!("{what} is taken as output: say `\"isIn\": true` where it is read"))
                }
            },
        );
        1
    }

    /// A buffer that what follows it is copied into; returns how many parameters that makes.
    fn copy(&mut self, index: usize, draft: ParameterDraft, counter: usize, is_text: bool) -> usize {
        let [into, from, size] = [index, index + 1, counter].map(|index| self.names[index].clone());
        let draft = draft.key("x-sizeParam", size.clone());
        if !is_text {
            self.push(
                index,
                draft.review(format!("`{into}` is taken to be as long as `{from}`: where it is not, say `x-size`")),
            );
            return 1;
        }
        self.push(
            index,
            draft.review(format!(
                "`{size}` is taken as the size of `{into}`: where it is the length of `{from}`, say that there by `x-lengthParam`"
            )),
        );
        self.push(index + 1, ParameterDraft::new(&from, SchemaType::String, CType::pointer(CTypeName::Char)));
        let scalar = self.signature.parameters[counter].1.scalar().unwrap_or(CTypeName::Int);
        let counted = ParameterDraft::new(&size, SchemaType::Integer, CType::value(scalar));
        self.push_described(counter, counted, &format!("The size of the buffer for `{into}`."));
        3
    }

    pub(crate) fn said(&self, index: usize) -> Option<&ParameterComment> {
        let own = self.signature.parameters[index].0.as_deref()?;
        self.comment?.parameters.get(own)
    }

    fn push(&mut self, index: usize, draft: ParameterDraft) {
        self.push_described(index, draft, "");
    }

    /// Adds a parameter; what the header says about it goes before what is known of it.
    fn push_described(&mut self, index: usize, mut draft: ParameterDraft, otherwise: &str) {
        let said = self.said(index).map(|said| said.text.clone()).filter(|text| !text.is_empty());
        let known = draft.parameter.description.take();
        draft.parameter.description = match (said, known) {
            (Some(said), Some(known)) => Some(format!("{said} {known}")),
            (Some(text), None) | (None, Some(text)) => Some(text),
            (None, None) => (!otherwise.is_empty()).then(|| otherwise.to_owned()),
        };
        if let Some(reason) = draft.review {
            draft.parameter.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(draft.parameter.name.clone()), reason));
        }
        self.made.function.parameters.push(draft.parameter);
    }
}

/// Why a length that is not named like one should be checked.
fn guessed(counter: &str) -> String {
    format!(
        "`{counter}` is taken as its length by its type and place: where it is something else, remove `x-lengthParam`"
    )
}
