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
    error::{ArgumentError, SchemaError},
    explain,
    instance::ItemJson,
    prune,
    streaming::{self, ObjectRule},
    tree::{ArgumentTree, ItemKind, Members},
    violation::RefusedArguments,
};
use crate::patterns::{self, PatternEngine};

/// What happens to root arguments that the schema does not know.
///
/// Where the schema itself is open, which it is unless its `additionalProperties` is `false`, they stay, strict or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
    streaming: Option<ObjectRule>,
    validator: Validator<ItemJson>,
    root: RootNames,
    patterns: PatternEngine,
    /// The validator that asserts formats, made when it is first needed; none where the schema has no format.
    with_formats: OnceLock<Option<Validator<ItemJson>>>,
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

    pub(crate) fn compile_with(schema: &Value, patterns: PatternEngine) -> Result<Self, SchemaError> {
        if schema.get("type").is_none_or(|name| name != "object") {
            return Err(SchemaError::NotAnObjectSchema { found: explain::root_of(schema) });
        }
        let validator = validator(schema, patterns, false)?;
        Ok(Self(Arc::new(Compiled {
            streaming: streaming::compile(schema),
            validator,
            root: RootNames::new(schema, patterns)?,
            schema: schema.clone(),
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
        if self.accepts_streaming(arguments) {
            Ok(Cow::Borrowed(arguments))
        } else {
            self.0.check_by_validator(arguments, strictness)
        }
    }

    /// Checks that arguments which [`check`](Self::check) accepted also have the formats (`date-time`, `email`, `uri` and the
    /// others of JSON Schema) that the schema states; unknown formats are ignored.
    ///
    /// # Errors
    ///
    /// When a text has another format.
    pub fn check_formats(&self, arguments: &str) -> Result<(), ArgumentError> {
        let with_formats = self.0.with_formats.get_or_init(|| {
            // It was compiled without formats, and those cannot make it fail.
            has_format(&self.0.schema).then(|| validator(&self.0.schema, self.0.patterns, true).ok()).flatten()
        });
        let Some(validator) = with_formats else { return Ok(()) };
        let tree = parse_object(arguments)?;
        patterns::start_budget();
        if validator.is_valid(&tree.root) {
            return Ok(());
        }
        patterns::start_budget();
        Err(RefusedArguments { arguments, root: &tree.root, schema: &self.0.schema }.explain(validator))
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
    ) -> Result<Cow<'a, str>, ArgumentError> {
        if is_nothing(arguments) {
            return Ok(Cow::Owned("{}".to_owned()));
        }
        let allows = |name: &str| strictness == Strictness::Lenient || self.0.root.allows(name);
        let is_object = arguments.trim_start().starts_with('{');
        if is_object && check_unique_names(arguments, allows) == Ok(true) {
            return Ok(Cow::Borrowed(arguments));
        }
        let tree = parse_object(arguments)?;
        let unknown: Vec<&str> = tree.members().map(|member| &*member.name).filter(|name| !allows(name)).collect();
        if unknown.is_empty() {
            Ok(Cow::Borrowed(arguments))
        } else {
            Err(explain::unknown_names(&unknown, &self.0.schema))
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
        self.0.check_by_validator(arguments, strictness)
    }
}

/// Compiles a schema. References are resolved within it only.
fn validator(schema: &Value, patterns: PatternEngine, formats: bool) -> Result<Validator<ItemJson>, SchemaError> {
    let options = patterns.options().should_validate_formats(formats);
    options.build(schema).map_err(|error| explain::schema_error(&error))
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
fn parse_object(arguments: &str) -> Result<ArgumentTree<'_>, ArgumentError> {
    let tree = ArgumentTree::parse(arguments).map_err(|error| explain::malformed(arguments, error))?;
    if !matches!(tree.root.kind, ItemKind::Object(_)) {
        return Err(explain::not_an_object(arguments, &tree.root));
    }
    if !tree.duplicates.is_empty() {
        return Err(explain::duplicates(&tree));
    }
    Ok(tree)
}

impl Compiled {
    fn check_by_validator<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
    ) -> Result<Cow<'a, str>, ArgumentError> {
        if is_nothing(arguments) {
            return self.check_by_validator("{}", strictness).map(|nothing| Cow::Owned(nothing.into_owned()));
        }
        let mut tree = parse_object(arguments)?;
        let mut cuts = Vec::new();
        if tree.has_null_member {
            prune::drop_nulls(&mut tree.root, &self.schema, &mut cuts);
        }
        if strictness == Strictness::Lenient
            && let ItemKind::Object(members) = &mut tree.root.kind
            && !self.root.allows_all(members)
        {
            prune::drop_unknown(members, |name| self.root.allows(name), &mut cuts);
        }
        patterns::start_budget();
        if self.validator.is_valid(&tree.root) {
            return Ok(prune::cut(arguments, cuts));
        }
        patterns::start_budget();
        Err(RefusedArguments { arguments, root: &tree.root, schema: &self.schema }.explain(&self.validator))
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

    fn allows_all(&self, members: &Members<'_>) -> bool {
        matches!(self, Self::Open) || members.iter().all(|member| self.allows(&member.name))
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
