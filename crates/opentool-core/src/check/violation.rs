//! What the validator finds, in words that a model can act on.

use std::borrow::Cow;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind as Kind};
use opentool_spec::json::{excerpt, pointer};
use serde_json::Value;

use super::{
    alternatives::NoAlternative,
    error::{ArgumentError, MAX_PROBLEMS, Problem},
    explain::{MAX_QUOTED, got, listed, quoted, suggestion, types},
    indexed::IndexedText,
    instance::{TextJson, is_cut_short},
    subject::Subject,
    value::{JsonKind, JsonValue},
};

/// Arguments, or another object, that do not satisfy their schema.
pub(super) struct RefusedArguments<'r> {
    pub(super) document: &'r IndexedText<'r>,
    pub(super) schema: &'r Value,
    pub(super) subject: Subject,
}

impl<'r> RefusedArguments<'r> {
    /// Explains what the validator finds.
    pub(super) fn explain(&self, validator: &Validator<TextJson>) -> ArgumentError {
        let (mut described, mut omitted) = (Vec::new(), 0);
        // The validator keeps all it finds, which may be far more than the text.
        self.document.limit_reading();
        let errors = validator.iter_errors(self.root());
        self.document.lift_limit();
        for error in errors.filter(|error| !is_cut_short(error)) {
            let (mut more, others) = self.problems(&error, MAX_PROBLEMS - described.len());
            described.append(&mut more);
            omitted += others;
        }
        if described.is_empty() {
            return ArgumentError::new("", self.subject.too_long_to_explain());
        }
        ArgumentError::from_problems(described).with_omitted(omitted)
    }

    /// The problems that an error amounts to, as far as there is room, and how many others there
    /// are. Most errors are one problem; unknown members are one each.
    fn problems(&self, error: &ValidationError<'_>, room: usize) -> (Vec<Problem>, usize) {
        let here = error.instance_path().as_str();
        let (unknown, count): (Vec<Cow<'_, str>>, usize) = match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                (unexpected.iter().take(room).map(Into::into).collect(), unexpected.len())
            }
            Kind::FalseSchema if admits_no_members(error) => {
                let object = self.instance(error).filter(|value| value.is(JsonKind::Object));
                let members = object.into_iter().flat_map(JsonValue::members);
                (members.take(room).map(|member| member.name).collect(), object.map_or(0, JsonValue::len))
            }
            _ => (Vec::new(), 0),
        };
        let others = count.max(1).saturating_sub(room);
        if room == 0 {
            return (Vec::new(), others);
        }
        if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
            let problems = |error: &ValidationError<'_>, room| self.problems(error, room).0;
            let unfit = NoAlternative { root: self.root(), subject: self.subject, problems: &problems };
            return (vec![unfit.describe(error, context)], others);
        }
        if unknown.is_empty() {
            let message = self.message(error);
            return (vec![Problem::new(here, message)], others);
        }
        let known: Vec<&str> = self
            .violated_schema(error)
            .and_then(|schema| schema.get("properties")?.as_object())
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let noun = self.subject.member(here);
        let described = unknown.into_iter().take(room).map(|name| {
            let mut path = here.to_owned();
            pointer::push(&mut path, &name);
            let suggestion = suggestion(&name, &known);
            Problem::new(path, format!("unknown {noun} {}{suggestion}", quoted(&name)))
        });
        (described.collect(), others)
    }

    fn message(&self, error: &ValidationError<'_>) -> String {
        let got = || match self.instance(error) {
            Some(value) => got(value),
            None => "something else".to_owned(),
        };
        match error.kind() {
            Kind::Type { kind } => format!("expected {}, got {}", types(kind).join(" or "), got()),
            Kind::Required { property } => self.missing(error, property),
            Kind::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                format!("expected one of {}, got {}", listed(options.iter()), got())
            }
            Kind::Constant { expected_value } => {
                let expected = expected_value.to_string();
                format!("expected {}, got {}", excerpt(&expected, MAX_QUOTED), got())
            }
            Kind::Minimum { limit } => format!("expected at least {limit}, got {}", got()),
            Kind::Maximum { limit } => format!("expected at most {limit}, got {}", got()),
            Kind::ExclusiveMinimum { limit } => {
                format!("expected more than {limit}, got {}", got())
            }
            Kind::ExclusiveMaximum { limit } => {
                format!("expected less than {limit}, got {}", got())
            }
            Kind::MultipleOf { multiple_of } => {
                format!("expected a multiple of {multiple_of}, got {}", got())
            }
            Kind::MinLength { limit } => self.length(error, "at least", *limit, "character"),
            Kind::MaxLength { limit } => self.length(error, "at most", *limit, "character"),
            Kind::MinItems { limit } => self.length(error, "at least", *limit, "item"),
            Kind::MaxItems { limit } => self.length(error, "at most", *limit, "item"),
            Kind::AdditionalItems { limit } => {
                self.length(error, "at most", u64::try_from(*limit).unwrap_or(u64::MAX), "item")
            }
            Kind::MinProperties { limit } => self.length(error, "at least", *limit, "member"),
            Kind::MaxProperties { limit } => self.length(error, "at most", *limit, "member"),
            Kind::Pattern { pattern } => {
                let pattern = excerpt(pattern, MAX_QUOTED * 2);
                format!("expected text that matches the pattern {pattern}, got {}", got())
            }
            // The words of our own keyword.
            Kind::Custom { message, .. } => format!("{message}, got {}", got()),
            Kind::Format { format } => format!("expected text in the format {format}, got {}", got()),
            Kind::UniqueItems => "expected items that all differ".to_owned(),
            Kind::FalseSchema => format!("expected nothing here, got {}", got()),
            Kind::PropertyNames { error } => format!("a name is wrong: {}", error.masked()),
            Kind::OneOfMultipleValid { .. } => {
                "fits more than one of the alternatives, expected exactly one".to_owned()
            }
            // The rest is rare; the validator's own words do, without the value, which may be long.
            _ => excerpt(&error.masked().to_string(), MAX_QUOTED * 4).into_owned(),
        }
    }

    /// A required member that is missing, and what it should be.
    fn missing(&self, error: &ValidationError<'_>, property: &Value) -> String {
        let name = property.as_str().unwrap_or_default();
        let expected = self
            .violated_schema(error)
            .and_then(|schema| schema.get("properties")?.get(name)?.get("type"))
            .map(|types| match types {
                Value::String(name) => format!(" ({name})"),
                Value::Array(names) => {
                    let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
                    format!(" ({})", names.join(" or "))
                }
                _ => String::new(),
            })
            .unwrap_or_default();
        let noun = self.subject.member(error.instance_path().as_str());
        format!("missing required {noun} {}{expected}", quoted(name))
    }

    /// A length or a count out of its limit.
    fn length(&self, error: &ValidationError<'_>, side: &str, limit: u64, unit: &str) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let got = match self.instance(error) {
            Some(value) if value.is(JsonKind::String) => {
                let string = value.string().unwrap_or_default();
                format!("{}: {}", string.chars().count(), quoted(&string))
            }
            value => value.map_or(0, JsonValue::len).to_string(),
        };
        format!("expected {side} {limit} {unit}{}, got {got}", plural(limit))
    }

    fn root(&self) -> JsonValue<'r> {
        JsonValue::root(self.document)
    }

    fn instance(&self, error: &ValidationError<'_>) -> Option<JsonValue<'r>> {
        self.root().find(error.instance_path().as_str())
    }

    /// The schema that holds the keyword that was violated.
    fn violated_schema(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let path = error.schema_path().as_str();
        let end = path.rfind('/')?;
        self.schema.pointer(path.get(..end)?)
    }
}

/// Whether `additionalProperties` without `properties` was violated, which the validator reports as
/// if the object itself were not wanted.
fn admits_no_members(error: &ValidationError<'_>) -> bool {
    let path = error.schema_path().as_str();
    path.ends_with("/additionalProperties") && !path.ends_with("/properties/additionalProperties")
}
