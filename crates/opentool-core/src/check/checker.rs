//! The checker itself: which engine is asked, and in which order things happen.

use std::{borrow::Cow, fmt, sync::Arc};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{
    breach::Refused,
    error::{ArgumentError, SchemaError},
    explain,
    flat::{self, Flat, Verdict},
    instance::Text,
    prune,
    tree::{Kind, Members, Tree},
};

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
    flat: Option<Flat>,
    validator: Validator<Text>,
    door: Door,
}

/// Which members the root of a schema lets in.
enum Door {
    /// All, to be checked as the schema says.
    Open,
    /// Those that it names, and those that match a pattern of its.
    Closed { names: Box<[Box<str>]>, patterns: Option<Validator> },
}

impl ArgumentChecker {
    /// Compiles a schema, whose root must be an object schema.
    ///
    /// References are resolved within the schema only, never fetched.
    ///
    /// # Errors
    ///
    /// When the root is anything else, the schema breaks the rules of JSON Schema, or a reference
    /// leads out of it or nowhere.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type").is_none_or(|name| name != "object") {
            return Err(SchemaError::NotAnObjectSchema { found: explain::root_of(schema) });
        }
        let validator = jsonschema::options_for::<Text>()
            .offline()
            .should_validate_formats(false)
            .build(schema)
            .map_err(|error| explain::schema_error(&error))?;
        Ok(Self(Arc::new(Compiled {
            flat: flat::compile(schema),
            validator,
            door: Door::of(schema)?,
            schema: schema.clone(),
        })))
    }

    /// Checks arguments and gives back what the tool may read: borrowed, the very same text; owned,
    /// a copy without what was dropped, or `{}` for nothing.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, its root is not an object, a name is there twice, or the schema
    /// is not satisfied.
    #[inline]
    pub fn check<'a>(&self, arguments: &'a str, strictness: Strictness) -> Result<Cow<'a, str>, ArgumentError> {
        if self.accepts_at_a_glance(arguments) {
            Ok(Cow::Borrowed(arguments))
        } else {
            self.check_closely(arguments, strictness)
        }
    }

    /// Checks that every root argument is one that the schema names, and nothing else.
    ///
    /// # Errors
    ///
    /// When the text is not a JSON object, or an argument is unknown.
    pub(crate) fn check_names(&self, arguments: &str) -> Result<(), ArgumentError> {
        let tree = Tree::parse(arguments).map_err(|malformed| explain::malformed(arguments, malformed))?;
        let Kind::Object(members) = &tree.root.kind else {
            return Err(explain::not_an_object(arguments, &tree.root));
        };
        let unknown = members.iter().filter(|member| !self.0.door.admits(&member.name));
        let unknown: Vec<&str> = unknown.map(|member| &*member.name).collect();
        if unknown.is_empty() { Ok(()) } else { Err(explain::unknown_names(&unknown, &self.0.schema)) }
    }

    /// Says whether arguments are accepted as they stand, at a glance; others may be too.
    #[inline]
    pub(crate) fn accepts_at_a_glance(&self, arguments: &str) -> bool {
        self.0.flat.as_ref().is_some_and(|flat| flat.accepts_at_a_glance(arguments))
    }

    fn check_closely<'a>(&self, arguments: &'a str, strictness: Strictness) -> Result<Cow<'a, str>, ArgumentError> {
        if is_nothing(arguments) {
            return self.check("{}", strictness).map(|nothing| Cow::Owned(nothing.into_owned()));
        }
        match &self.0.flat {
            Some(flat) if flat.judge(arguments) == Verdict::Accepted => Ok(Cow::Borrowed(arguments)),
            _ => self.0.check_by_validator(arguments, strictness),
        }
    }

    /// What the pass that looks closely makes of it.
    #[cfg(test)]
    pub(super) fn judge_flat(&self, arguments: &str) -> Option<Verdict> {
        self.0.flat.as_ref().map(|flat| flat.judge(arguments))
    }

    /// What the validator alone makes of a text, for the same tests.
    #[cfg(test)]
    pub(super) fn check_by_validator<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
    ) -> Result<Cow<'a, str>, ArgumentError> {
        self.0.check_by_validator(arguments, strictness)
    }
}

impl Compiled {
    fn check_by_validator<'a>(
        &self,
        arguments: &'a str,
        strictness: Strictness,
    ) -> Result<Cow<'a, str>, ArgumentError> {
        let mut tree = Tree::parse(arguments).map_err(|malformed| explain::malformed(arguments, malformed))?;
        if !matches!(tree.root.kind, Kind::Object(_)) {
            return Err(explain::not_an_object(arguments, &tree.root));
        }
        if !tree.duplicates.is_empty() {
            return Err(explain::duplicates(&tree));
        }
        let mut cuts = Vec::new();
        if tree.has_null_member {
            prune::drop_nulls(&mut tree.root, &self.schema, &mut cuts);
        }
        if strictness == Strictness::Lenient
            && let Kind::Object(members) = &mut tree.root.kind
            && !self.door.admits_all(members)
        {
            prune::drop_unknown(members, |name| self.door.admits(name), &mut cuts);
        }
        if self.validator.is_valid(&tree.root) {
            return Ok(prune::cut(arguments, cuts));
        }
        Err(Refused { arguments, root: &tree.root, schema: &self.schema }.explain(&self.validator))
    }
}

impl Door {
    fn of(schema: &Value) -> Result<Self, SchemaError> {
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
                jsonschema::options()
                    .offline()
                    .build(&json!({ "patternProperties": any, "additionalProperties": false }))
                    .map_err(|error| explain::schema_error(&error))
            })
            .transpose()?;
        Ok(Self::Closed { names: names.into(), patterns })
    }

    fn admits(&self, name: &str) -> bool {
        match self {
            Self::Open => true,
            Self::Closed { names, patterns } => {
                names.binary_search_by(|known| (**known).cmp(name)).is_ok()
                    || patterns.as_ref().is_some_and(|patterns| patterns.is_valid(&json!({ name: null })))
            }
        }
    }

    fn admits_all(&self, members: &Members<'_>) -> bool {
        matches!(self, Self::Open) || members.iter().all(|member| self.admits(&member.name))
    }
}

impl fmt::Debug for ArgumentChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentChecker").field("schema", &self.0.schema).field("flat", &self.0.flat.is_some()).finish()
    }
}

/// Whether a model wrote no arguments at all: nothing, or `null`.
#[inline]
fn is_nothing(arguments: &str) -> bool {
    // The usual first byte settles it.
    !arguments.starts_with('{') && matches!(arguments.trim(), "" | "null")
}
