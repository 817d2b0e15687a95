//! The form of a typed answer, checked before a caller gets it: [`AnswerForm`].

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use opentool_core::__private::read;
use opentool_core::{ArgumentChecker, Arguments, Strictness, ToolDefinition, input_schema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::answer_type::AnswerType;
use crate::error::ChatError;
use crate::response_format::{FormDescription, ResponseFormat};

/// How often a model is asked for an answer in the right form, by default.
const TRIES: u32 = 3;

/// The property that holds an answer whose schema is no object, since providers take only objects.
const WRAPPED: &str = "value";

/// The name of the tool by which a model answers, where its provider has no other means.
pub(crate) const ANSWER_TOOL: &str = "final_answer";

/// The form that the answer of a turn must have: JSON that follows a schema, or that a type can be read from.
///
/// [`ChatRequest::call_as`](crate::ChatRequest::call_as) makes one of the type. The model is held to it by whatever its provider
/// [has](crate::Provider::typed_answers) for that, the answer is checked here, and a model whose answer does not follow it sees
/// what is wrong and is asked again. Tools of the same turn work as ever, but their results always go back to the model.
///
/// ```
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_chat::{AnswerForm, ChatClient};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let model = ScriptedModel::new([Reply::text(r#"{"days": "three"}"#), Reply::text(r#"{"days": 3}"#)]);
/// let form = AnswerForm::from_schema("trip", json!({
///     "type": "object",
///     "properties": { "days": { "type": "integer" } },
///     "required": ["days"],
/// }))?;
/// let response = ChatClient::new(model).prompt("How long is the trip?").answer_form(form).call().await?;
/// assert_eq!(response.text(), r#"{"days": 3}"#);
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct AnswerForm {
    format: ResponseFormat,
    checker: ArgumentChecker,
    is_wrapped: bool,
    tries: u32,
    /// Reads the text as the type, where there is one.
    read: Option<ReadCheck>,
}

/// Reads a text as a type, and says why that does not work.
type ReadCheck = fn(&str) -> Result<(), String>;

/// An answer that does not have its form.
#[derive(Debug)]
pub(crate) struct FormViolation(pub(crate) String);

impl AnswerForm {
    /// Makes the form of a type that can be described and read.
    ///
    /// # Errors
    ///
    /// When its schema nests deeper than any provider accepts.
    pub fn for_type<T: AnswerType>() -> Result<Self, ChatError> {
        let unusable = |error: String| {
            let name = T::schema_name();
            ChatError::setup(format!("the type `{name}` cannot be the form of an answer: {error}"))
        };
        let (schema, is_wrapped) = match input_schema::<T>() {
            Ok(schema) => (schema, false),
            // No object: a list, a number, an enum.
            Err(_) => (input_schema::<Wrapped<T>>().map_err(|error| unusable(error.to_string()))?, true),
        };
        let described = T::json_schema(&mut SchemaGenerator::default());
        let description = described.get("description").and_then(Value::as_str).map(str::to_owned);
        let mut form = Self::new(&T::schema_name(), schema, is_wrapped).map_err(unusable)?;
        form.format.description = description;
        form.read = Some(|text| {
            read::<T>(&Arguments::from(text)).map(drop).map_err(|error| error.argument_problem().to_owned())
        });
        Ok(form)
    }

    /// Makes the form of a schema. One whose root is no object is wrapped in one on its way to the model.
    ///
    /// # Errors
    ///
    /// When the schema cannot be used.
    pub fn from_schema(name: &str, schema: Value) -> Result<Self, ChatError> {
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        let schema = if is_object { schema } else { wrap(schema) };
        let unusable = |error| ChatError::setup(format!("the schema cannot be the form of an answer: {error}"));
        Self::new(name, schema, !is_object).map_err(unusable)
    }

    fn new(name: &str, schema: Value, is_wrapped: bool) -> Result<Self, String> {
        let checker = ArgumentChecker::compile_object(&schema).map_err(|error| error.to_string())?;
        Ok(Self { format: ResponseFormat::new(name, schema), checker, is_wrapped, tries: TRIES, read: None })
    }

    /// Sets how often the model is asked until its answer has the form: 3 times, and at least once.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sets what the answer is, for the model; by default the doc comment of the type.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.format.description = Some(description.into());
        self
    }

    /// Returns the schema that the model is sent.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.format.schema
    }

    /// Returns the form as a run notes it.
    pub(crate) fn describe(&self) -> FormDescription {
        FormDescription { format: self.format.clone(), is_wrapped: self.is_wrapped, tries: self.tries }
    }

    /// Makes the form that a run noted.
    pub(crate) fn from_description(form: FormDescription) -> Result<Self, ChatError> {
        let FormDescription { format, is_wrapped, tries } = form;
        let checker = ArgumentChecker::compile_object(&format.schema)
            .map_err(|error| ChatError::setup(format!("the schema cannot be the form of an answer: {error}")))?;
        Ok(Self { format, checker, is_wrapped, tries, read: None })
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    pub(crate) fn format(&self) -> &ResponseFormat {
        &self.format
    }

    /// What a model that has no other means reads.
    pub(crate) fn instruction(&self) -> String {
        let about = self.format.description.as_deref().map(|text| format!(" ({text})")).unwrap_or_default();
        format!(
            "When you give your final answer{about}, write one JSON object that follows this JSON Schema, and nothing else: \
             no other words, no code fence.\n{}",
            self.format.schema
        )
    }

    /// The tool that a model calls to answer.
    pub(crate) fn tool(&self) -> Result<ToolDefinition, ChatError> {
        let about = self.format.description.as_deref().unwrap_or("the answer in its final form");
        let definition = ToolDefinition::builder(ANSWER_TOOL)
            .description(format!("Give your final answer: {about}. Call this last, and once."))
            .input_schema((*self.format.schema).clone());
        definition.build().map_err(|error| ChatError::setup(error.to_string()))
    }

    /// Finds the answer in a text and checks it; returns it as the caller gets it.
    pub(crate) fn check(&self, text: &str) -> Result<String, FormViolation> {
        let mut first = None;
        for candidate in candidates(text) {
            match self.check_json(candidate) {
                Ok(answer) => return Ok(answer),
                Err(violation) => first = first.or(Some(violation)),
            }
        }
        Err(first.unwrap_or_else(|| FormViolation("there is no JSON in it".to_owned())))
    }

    fn check_json(&self, json: &str) -> Result<String, FormViolation> {
        let mut json = Cow::Borrowed(json);
        // Models that were asked for a list often answer with the list.
        if self.is_wrapped && !is_wrapper(&json) {
            json = Cow::Owned(format!("{{\"{WRAPPED}\":{json}}}"));
        }
        let checked = self.checker.check(&json, Strictness::Lenient);
        let checked = checked.map_err(|error| FormViolation(error.to_string()))?;
        let answer = match self.is_wrapped {
            true => unwrapped(&checked).unwrap_or_default(),
            false => checked.into_owned(),
        };
        match self.read.map(|read| read(&answer)) {
            Some(Err(problem)) => Err(FormViolation(problem)),
            _ => Ok(answer),
        }
    }

    /// The part of a growing value that belongs to the caller.
    pub(crate) fn partial(&self, value: Value) -> Option<Value> {
        match (self.is_wrapped, value) {
            (false, value) => Some(value),
            (true, Value::Object(mut object)) if object.contains_key(WRAPPED) => object.remove(WRAPPED),
            (true, Value::Object(object)) if object.is_empty() => None,
            (true, value) => Some(value),
        }
    }
}

/// Reads a checked answer.
pub(crate) fn read_answer<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    read(&Arguments::from(text)).map_err(|error| error.argument_problem().to_owned())
}

/// The texts in an answer that may be its JSON: the whole, what stands in a code fence, what stands between braces.
fn candidates(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    let fenced = text.split("```").nth(1).map(|block| {
        let block = block.trim();
        block.strip_prefix("json").unwrap_or(block).trim()
    });
    let between = |open: char, close: char| Some(&text[text.find(open)?..=text.rfind(close)?]);
    // A range that ends before it begins has no text.
    let braced = text.find('{').zip(text.rfind('}')).filter(|(from, to)| from < to).and_then(|_| between('{', '}'));
    let listed = text.find('[').zip(text.rfind(']')).filter(|(from, to)| from < to).and_then(|_| between('[', ']'));
    [Some(text), fenced, braced, listed].into_iter().flatten().filter(move |text| is_json(text))
}

/// Says whether a text is the object around an answer.
fn is_wrapper(json: &str) -> bool {
    // A list would be read as the fields of the struct, in order.
    json.trim_start().starts_with('{') && unwrapped(json).is_some()
}

/// The text of the answer inside its object; numbers in it are as they were written.
fn unwrapped(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Wrapper {
        value: Box<serde_json::value::RawValue>,
    }
    let wrapper: Wrapper = serde_json::from_str(json).ok()?;
    Some(wrapper.value.get().to_owned())
}

/// The schema of an object around another schema, whose definitions stay at the root, where references look for them.
fn wrap(mut schema: Value) -> Value {
    let definitions = ["$defs", "definitions"].map(|key| {
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove(key));
        (key, definitions)
    });
    let mut wrapper = json!({
        "type": "object", "properties": { WRAPPED: schema }, "required": [WRAPPED], "additionalProperties": false,
    });
    for (key, definitions) in definitions {
        if let Some(definitions) = definitions {
            wrapper[key] = definitions;
        }
    }
    wrapper
}

/// An object around a type.
struct Wrapped<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Wrapped<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Answer", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "properties": { WRAPPED: value }, "required": [WRAPPED] })
    }
}

impl fmt::Debug for AnswerForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerForm").field("format", &self.format).field("tries", &self.tries).finish_non_exhaustive()
    }
}

/// A form that turns share.
pub(crate) type SharedForm = Arc<AnswerForm>;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn form(schema: Value) -> AnswerForm {
        AnswerForm::from_schema("it", schema).unwrap()
    }

    #[test]
    fn an_answer_is_found_among_words() {
        let form = form(json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }));
        for text in [
            r#"{"n":1}"#,
            " {\"n\":1}\n",
            "```json\n{\"n\":1}\n```",
            "Here you are:\n```\n{\"n\":1}\n```\nAnything else?",
            r#"The answer is {"n":1}."#,
        ] {
            assert_eq!(form.check(text).unwrap(), r#"{"n":1}"#, "{text}");
        }
        for (text, problem) in [
            ("", "there is no JSON in it"),
            ("}{", "there is no JSON in it"),
            (r#"{"n":"#, "there is no JSON in it"),
            (r#"{"n":"one"}"#, r#"/n: expected integer, got string "one""#),
            ("{}", r#"missing required property "n" (integer)"#),
            (r#"{"arguments":1,"n":1.5}"#, "/n: expected integer, got number 1.5"),
        ] {
            assert_eq!(form.check(text).unwrap_err().0, problem, "{text}");
            let noted = AnswerForm::from_description(form.describe()).unwrap();
            assert_eq!(noted.check(text).unwrap_err().0, problem, "as a run noted it: {text}");
        }
    }

    #[test]
    fn an_answer_that_is_no_object_is_wrapped_and_unwrapped() {
        let list = AnswerForm::for_type::<Vec<u64>>().unwrap();
        assert_eq!(list.schema()["properties"]["value"]["type"], "array");
        for text in [r#"{"value":[1,18446744073709551615]}"#, "[1,18446744073709551615]"] {
            assert_eq!(list.check(text).unwrap(), "[1,18446744073709551615]", "no number is rounded");
        }
        assert_eq!(list.check("[7]").unwrap(), "[7]");
        let schema = json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "integer", "maximum": 3 } } });
        assert_eq!(form(schema.clone()).check("3").unwrap(), "3");
        assert!(form(schema).check("4").unwrap_err().0.starts_with("/value: "));
    }

    #[test]
    fn what_the_type_refuses_is_a_violation_too() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String")]
        struct Even;
        impl TryFrom<String> for Even {
            type Error = &'static str;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                if text.len().is_multiple_of(2) { Ok(Self) } else { Err("the text must have an even length") }
            }
        }
        let form = AnswerForm::for_type::<Even>().unwrap();
        assert_eq!(form.check("\"ab\"").unwrap(), "\"ab\"");
        assert_eq!(form.check("\"abc\"").unwrap_err().0, "the text must have an even length");
    }
}
