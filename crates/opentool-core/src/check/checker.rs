//! The checker itself: which engine is asked, and in which order things happen.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use jsonschema::Validator;
use opentool_spec::json::check_unique_names;
use serde_json::{Value, json};

use super::{
    bounded::{BoundedValidator, CheckResult, too_much_work},
    error::{ArgumentError, SchemaError},
    explain,
    indexed::{IndexedText, ReadError},
    memory::{CheckMemory, OutOfMemory},
    prune,
    references::count_references,
    simple::is_simple,
    streaming::{self, ObjectRule},
    subject::Subject,
    value::{JsonKind, JsonValue},
    violation::RefusedArguments,
};
use crate::memory::MemoryBudget;
use crate::patterns::PatternEngine;

/// What happens to root arguments that the schema does not know.
///
/// Where the schema itself is open, which it is unless its `additionalProperties` is `false`, they stay, strict or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Strictness {
    /// They are dropped.
    #[default]
    Lenient,
    /// They are refused, with the names that were perhaps meant.
    Strict,
}

/// A tool's input schema, compiled to check the arguments of its calls.
///
/// Cloning it is cheap.
#[derive(Clone)]
pub struct ArgumentChecker(Arc<Compiled>);

struct Compiled {
    schema: Value,
    subject: Subject,
    streaming: Option<ObjectRule>,
    /// Made when it is first needed where the schema is known to be right: compiling it is most of what a tool costs at the start.
    validator: OnceLock<Result<BoundedValidator, SchemaError>>,
    root: RootNames,
    patterns: PatternEngine,
    /// The validator that asserts formats, made when it is first needed; none where the schema has no format.
    with_formats: OnceLock<Option<BoundedValidator>>,
}

/// Which members the root of a schema allows.
enum RootNames {
    /// All, to be checked as the schema says.
    Open,
    /// Those that it names, and those that match one of its patterns.
    Closed { names: Box<[Box<str>]>, patterns: Option<Validator> },
}

impl ArgumentChecker {
    /// Compiles a schema, whose root must be an object schema.
    ///
    /// References are resolved within the schema only, never fetched. Patterns are matched without backtracking and under a
    /// budget, so that neither a schema nor arguments that come from elsewhere can keep a processor busy; a pattern with
    /// look-around or a back reference is refused.
    ///
    /// # Errors
    ///
    /// When the root is anything else, the schema breaks the rules of JSON Schema, a pattern cannot be used, or a
    /// reference leads out of it or nowhere.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_with(schema, PatternEngine::Bounded)
    }

    /// Compiles the schema of an object that is no arguments, such as an answer in a form: errors call its members properties.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
    pub fn compile_object(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_for(schema, PatternEngine::Bounded, Subject::Object)
    }

    pub(crate) fn compile_with(schema: &Value, patterns: PatternEngine) -> Result<Self, SchemaError> {
        Self::compile_for(schema, patterns, Subject::Arguments)
    }

    fn compile_for(schema: &Value, patterns: PatternEngine, subject: Subject) -> Result<Self, SchemaError> {
        if schema.get("type").is_none_or(|name| name != "object") {
            return Err(SchemaError::NotAnObjectSchema { found: explain::root_of(schema) });
        }
        let validator = if is_simple(schema) {
            count_references(schema)?;
            OnceLock::new()
        } else {
            OnceLock::from(Ok(BoundedValidator::compile(schema, patterns, false)?))
        };
        Ok(Self(Arc::new(Compiled {
            streaming: streaming::compile(schema),
            validator,
            root: RootNames::new(schema, patterns)?,
            schema: schema.clone(),
            subject,
            patterns,
            with_formats: OnceLock::new(),
        })))
    }

    /// Checks arguments and returns what the tool may read: borrowed, the very same text; owned, a copy without what was
    /// dropped, or `{}` for nothing.
    ///
    /// It takes time in proportion to the text, and neither waits nor needs a runtime: a long text can be checked on
    /// another thread, with a clone of the checker.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, its root is not an object, a name is there twice, or the schema
    /// is not satisfied.
    #[inline]
    pub fn check<'a>(&self, arguments: &'a str, strictness: Strictness) -> Result<Cow<'a, str>, ArgumentError> {
        self.check_within(arguments, strictness, None).map_err(Unchecked::into_error)
    }

    /// Checks arguments as [`check`](Self::check) does, with the memory of a budget.
    #[inline]
    pub(crate) fn check_within<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
        budget: Option<&MemoryBudget>,
    ) -> Result<Cow<'a, str>, Unchecked> {
        if self.accepts_streaming(arguments) {
            Ok(Cow::Borrowed(arguments))
        } else {
            self.0.check_by_validator(arguments, strictness, budget)
        }
    }

    /// Checks that arguments which [`check`](Self::check) accepted also have the formats (`date-time`, `email`, `uri` and the
    /// others of JSON Schema) that the schema states; unknown formats are ignored.
    ///
    /// # Errors
    ///
    /// When a text has another format.
    pub fn check_formats(&self, arguments: &str) -> Result<(), ArgumentError> {
        self.check_formats_within(arguments, None).map_err(Unchecked::into_error)
    }

    /// Checks formats as [`check_formats`](Self::check_formats) does, with the memory of a budget.
    pub(crate) fn check_formats_within(&self, arguments: &str, budget: Option<&MemoryBudget>) -> Result<(), Unchecked> {
        let with_formats = self.0.with_formats.get_or_init(|| {
            // It was compiled without formats, and those cannot make it fail.
            has_format(&self.0.schema)
                .then(|| BoundedValidator::compile(&self.0.schema, self.0.patterns, true).ok())
                .flatten()
        });
        let Some(validator) = with_formats else { return Ok(()) };
        let mut memory = CheckMemory::new(budget);
        let mut document = IndexedText::new(arguments);
        read_object(&mut document, &|_| true, &mut memory, self.0.subject)?;
        self.0.validate(validator, &document, &mut memory)
    }

    /// Checks what a tool that checks its own arguments relies on: that they are an object in which no name is there
    /// twice, at any depth, and with [`Strictness::Strict`] that the schema knows every root argument.
    ///
    /// # Errors
    ///
    /// When any of this is not so.
    pub(crate) fn check_object<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
        budget: Option<&MemoryBudget>,
    ) -> Result<Cow<'a, str>, Unchecked> {
        if is_nothing(arguments) {
            return Ok(Cow::Owned("{}".to_owned()));
        }
        let allows = |name: &str| strictness == Strictness::Lenient || self.0.root.allows(name);
        let is_object = arguments.trim_start().starts_with('{');
        // With a budget the slower way is taken, which reserves what it needs.
        if budget.is_none() && is_object && check_unique_names(arguments, allows) == Ok(true) {
            return Ok(Cow::Borrowed(arguments));
        }
        let mut document = IndexedText::new(arguments);
        read_object(&mut document, &|_| true, &mut CheckMemory::new(budget), self.0.subject)?;
        let unknown = || JsonValue::root(&document).members().map(|member| member.name).filter(|name| !allows(name));
        if unknown().next().is_none() {
            Ok(Cow::Borrowed(arguments))
        } else {
            Err(explain::unknown_names(unknown(), &self.0.schema, self.0.subject).into())
        }
    }

    /// Whether the streaming engine accepts arguments as they stand; others may be right too.
    #[inline]
    pub(super) fn accepts_streaming(&self, arguments: &str) -> bool {
        self.0.streaming.as_ref().is_some_and(|rule| rule.accepts(arguments))
    }

    /// Whether the streaming engine serves the schema.
    #[cfg(test)]
    pub(super) fn is_streaming(&self) -> bool {
        self.0.streaming.is_some()
    }

    /// What the validator alone makes of a text.
    #[cfg(test)]
    pub(super) fn check_by_validator<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
    ) -> Result<Cow<'a, str>, ArgumentError> {
        self.0.check_by_validator(arguments, strictness, None).map_err(Unchecked::into_error)
    }
}

/// Why arguments did not pass.
#[derive(Debug)]
pub(crate) enum Unchecked {
    /// They are wrong.
    Refused(ArgumentError),
    /// The check needs more memory than there is for it.
    OutOfMemory,
}

impl Unchecked {
    /// The error for a caller that has no budget, so that only the length of the text is left as a reason.
    #[cold]
    fn into_error(self) -> ArgumentError {
        match self {
            Self::Refused(error) => error,
            Self::OutOfMemory => ArgumentError::new("", "the text is too long: none of 4 GiB or more is read"),
        }
    }
}

impl From<ArgumentError> for Unchecked {
    fn from(error: ArgumentError) -> Self {
        Self::Refused(error)
    }
}

impl From<OutOfMemory> for Unchecked {
    fn from(OutOfMemory: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// Whether a schema may state a format anywhere.
fn has_format(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("format") || map.values().any(has_format),
        Value::Array(items) => items.iter().any(has_format),
        _ => false,
    }
}

/// Reads a text that has to be an object in which no name is there twice.
fn read_object(
    document: &mut IndexedText<'_>,
    wanted: &dyn Fn(&str) -> bool,
    memory: &mut CheckMemory,
    subject: Subject,
) -> Result<(), Unchecked> {
    document.read(wanted, memory).map_err(|error| match error {
        ReadError::Json(error) => Unchecked::Refused(explain::malformed(document.text(), error)),
        ReadError::OutOfMemory(error) => error.into(),
    })?;
    let root = JsonValue::root(document);
    if !root.is(JsonKind::Object) {
        return Err(explain::not_an_object(root, subject).into());
    }
    if document.duplicates().1 > 0 {
        return Err(explain::duplicates(document).into());
    }
    Ok(())
}

impl Compiled {
    fn check_by_validator<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
        budget: Option<&MemoryBudget>,
    ) -> Result<Cow<'a, str>, Unchecked> {
        if is_nothing(arguments) {
            let nothing = self.check_by_validator("{}", strictness, None)?;
            return Ok(Cow::Owned(nothing.into_owned()));
        }
        let wanted = |name: &str| strictness == Strictness::Strict || self.root.allows(name);
        let mut memory = CheckMemory::new(budget);
        let mut document = IndexedText::new(arguments);
        read_object(&mut document, &wanted, &mut memory, self.subject)?;
        let has_nulls = document.has_null_member();
        let cuts = if has_nulls || document.has_unwanted_member() {
            prune::find_cuts(JsonValue::root(&document), &wanted, has_nulls, &self.schema)
        } else {
            Vec::new()
        };
        if cuts.is_empty() {
            self.validate(self.validator()?, &document, &mut memory)?;
            return Ok(Cow::Borrowed(arguments));
        }
        // The index goes before there is another text.
        drop((document, memory));
        let mut memory = CheckMemory::new(budget);
        let kept = prune::kept(arguments, cuts);
        memory.grow(kept.iter().map(|part| part.len()).sum())?;
        let kept = kept.concat();
        let mut document = IndexedText::new(&kept);
        read_object(&mut document, &|_| true, &mut memory, self.subject)?;
        self.validate(self.validator()?, &document, &mut memory)?;
        drop(document);
        Ok(Cow::Owned(kept))
    }

    fn validator(&self) -> Result<&BoundedValidator, ArgumentError> {
        let compiled = self.validator.get_or_init(|| BoundedValidator::compile(&self.schema, self.patterns, false));
        compiled.as_ref().map_err(|error| ArgumentError::new("", error.to_string()))
    }

    fn validate(
        &self,
        validator: &BoundedValidator,
        document: &IndexedText<'_>,
        memory: &mut CheckMemory,
    ) -> Result<(), Unchecked> {
        match validator.check(document, memory)? {
            CheckResult::Satisfied => Ok(()),
            CheckResult::TooMuchWork => Err(too_much_work().into()),
            CheckResult::Violated => {
                let refused = RefusedArguments { document, schema: &self.schema, subject: self.subject };
                Err(refused.explain(validator.explaining(document)).into())
            }
        }
    }
}

impl RootNames {
    fn new(schema: &Value, engine: PatternEngine) -> Result<Self, SchemaError> {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Ok(Self::Open);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut names: Vec<Box<str>> = properties.into_iter().flatten().map(|(name, _)| name.as_str().into()).collect();
        names.sort_unstable();
        let patterns = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .map(|patterns| {
                // Asks of a name alone whether any pattern matches it.
                let any: serde_json::Map<_, _> =
                    patterns.keys().map(|pattern| (pattern.clone(), json!(true))).collect();
                engine
                    .options()
                    .build(&json!({ "patternProperties": any, "additionalProperties": false }))
                    .map_err(|error| explain::schema_error(&error))
            })
            .transpose()?;
        Ok(Self::Closed { names: names.into(), patterns })
    }

    fn allows(&self, name: &str) -> bool {
        match self {
            Self::Open => true,
            Self::Closed { names, patterns } => {
                names.binary_search_by(|known| (**known).cmp(name)).is_ok()
                    || patterns.as_ref().is_some_and(|patterns| patterns.is_valid(&json!({ name: null })))
            }
        }
    }
}

impl fmt::Debug for ArgumentChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentChecker")
            .field("schema", &self.0.schema)
            .field("streaming", &self.0.streaming.is_some())
            .finish()
    }
}

/// Whether a model wrote no arguments at all: nothing, or `null`.
#[inline]
fn is_nothing(arguments: &str) -> bool {
    // The usual first byte settles it.
    !arguments.starts_with('{') && matches!(arguments.trim(), "" | "null")
}
