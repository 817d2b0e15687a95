//! A parameter of the document while it is written: [`ParameterDraft`].

use opentool_spec::{CType, CTypeName, DynParameter, DynSchema, SchemaType};
use serde_json::Value;

use crate::draft::FunctionDraft;

/// A parameter of the document while it is written.
pub(crate) struct ParameterDraft {
    pub(crate) parameter: DynParameter,
    review: Vec<String>,
}

impl ParameterDraft {
    pub(crate) fn new(name: &str, schema_type: SchemaType, c_type: CType) -> Self {
        Self::with_schema(name, DynSchema::new(schema_type, c_type))
    }

    pub(crate) fn with_schema(name: &str, schema: DynSchema) -> Self {
        Self { parameter: DynParameter::new(name, schema), review: Vec::new() }
    }

    /// An address that callers never see.
    pub(crate) fn address(name: &str) -> Self {
        Self::new(name, SchemaType::String, CType::pointer(CTypeName::Void))
    }

    pub(crate) fn out(mut self) -> Self {
        self.parameter = self.parameter.out();
        self
    }

    pub(crate) fn optional(mut self) -> Self {
        self.parameter.required = false;
        self
    }

    pub(crate) fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.parameter.extra.insert(key.to_owned(), value.into());
        self
    }

    /// How long the value is, by two keys of its schema.
    pub(crate) fn exactly(mut self, [least, most]: [&str; 2], length: u64) -> Self {
        for key in [least, most] {
            self.parameter.schema.extra.insert(key.to_owned(), length.into());
        }
        self
    }

    pub(crate) fn review(mut self, reason: impl Into<String>) -> Self {
        self.review.push(reason.into());
        self
    }

    pub(crate) fn review_if(self, is_unsure: bool, reason: impl FnOnce() -> String) -> Self {
        if is_unsure { self.review(reason()) } else { self }
    }

    /// Adds to what is known of the parameter.
    pub(crate) fn note(mut self, text: &str) -> Self {
        let description = self.parameter.description.get_or_insert_default();
        if !description.is_empty() {
            description.push(' ');
        }
        description.push_str(text);
        self
    }

    /// Bytes in base 64, which the description says.
    pub(crate) fn base64(self) -> Self {
        self.key("x-encoding", "base64").note("Bytes, in base64.")
    }
}

impl FunctionDraft<'_, '_> {
    pub(crate) fn push(&mut self, index: usize, draft: ParameterDraft) {
        self.push_described(index, draft, "");
    }

    /// Adds a parameter; what the header says about it goes before what is known of it.
    pub(crate) fn push_described(&mut self, index: usize, mut draft: ParameterDraft, otherwise: &str) {
        let said = self.said(index).map(|said| said.text.clone()).filter(|text| !text.is_empty());
        let known = draft.parameter.description.take();
        draft.parameter.description = match (said, known) {
            (Some(said), Some(known)) => Some(format!("{said} {known}")),
            (Some(text), None) | (None, Some(text)) => Some(text),
            (None, None) => (!otherwise.is_empty()).then(|| otherwise.to_owned()),
        };
        self.add(draft);
    }

    /// Adds a parameter as it is.
    pub(crate) fn add(&mut self, mut draft: ParameterDraft) {
        if !draft.review.is_empty() {
            let reason = draft.review.join("; ");
            draft.parameter.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(draft.parameter.name.clone()), reason));
        }
        self.made.function.parameters.push(draft.parameter);
    }
}
