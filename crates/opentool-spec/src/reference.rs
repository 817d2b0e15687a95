//! References within a document, and how they are followed in a typed one.

use std::borrow::Cow;

use foldhash::{HashSet, HashSetExt as _};

use crate::{
    json::pointer::{push_escaped, reference_tokens},
    model::{DynSchema, OpenDyn, OpenTool, Schema},
};

/// Why a reference could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The reference does not start with `#/`: it points to another document.
    #[error("`{0}` does not refer to this document")]
    Remote(String),
    /// The document has no schema there.
    #[error("`{0}` leads to no schema of this document")]
    Unresolved(String),
    /// The reference leads to other references only, in a cycle.
    #[error("`{0}` leads back to itself and never to a schema")]
    Circular(String),
}

/// The schema at the root of a path, in a document of either kind.
macro_rules! schema_at {
    ($document:expr, $root:expr) => {
        match $root {
            SchemaRoot::Named(name) => $document.schemas.as_ref().and_then(|schemas| schemas.get(name)),
            SchemaRoot::Parameter(function, parameter) => $document
                .functions
                .get(*function)
                .and_then(|function| function.parameters.get(*parameter))
                .map(|parameter| &parameter.schema),
            SchemaRoot::Return(function) => $document
                .functions
                .get(*function)
                .and_then(|function| function.returns.as_ref())
                .map(|returns| &returns.schema),
        }
    };
}

impl OpenTool {
    /// The schema that a reference such as `#/schemas/User` names, through any aliases on the way.
    ///
    /// A reference may point forward, deep (`#/schemas/User/properties/name`), and use `~0` and `~1`. It never leaves
    /// the document.
    ///
    /// ```
    /// use opentool_spec::{Info, OpenTool, Schema};
    ///
    /// let document = OpenTool::new(Info::new("Users", "1.0.0"))
    ///     .schema("Alias", Schema::reference("#/schemas/User/properties/name"))
    ///     .schema("User", Schema::object().property("name", Schema::string()));
    /// assert_eq!(document.resolve("#/schemas/Alias"), Ok(&Schema::string()));
    /// assert!(document.resolve("#/schemas/Group").is_err());
    /// ```
    pub fn resolve(&self, reference: &str) -> Result<&Schema, ReferenceError> {
        follow(reference, |next| self.lookup(next), |schema| schema.reference.as_deref())
    }

    /// The schema that a reference names, without following it further.
    pub(crate) fn lookup(&self, reference: &str) -> Result<&Schema, ReferenceError> {
        let path = SchemaPath::parse(reference)?;
        let root = schema_at!(self, &path.root);
        let unresolved = || ReferenceError::Unresolved(reference.to_owned());
        let mut schema = root.ok_or_else(unresolved)?;
        let mut steps = path.rest.iter();
        while let Some(step) = steps.next() {
            let next = match &**step {
                "properties" => {
                    steps.next().and_then(|name| schema.properties.as_ref().and_then(|all| all.get(&**name)))
                }
                "items" => schema.items.as_deref(),
                _ => None,
            };
            schema = next.ok_or_else(unresolved)?;
        }
        Ok(schema)
    }
}

impl OpenDyn {
    /// The schema that a reference such as `#/schemas/Status` names, through any aliases on the way.
    ///
    /// # Errors
    ///
    /// As [`OpenTool::resolve`].
    pub fn resolve(&self, reference: &str) -> Result<&DynSchema, ReferenceError> {
        follow(reference, |next| self.lookup(next), |schema| schema.reference.as_deref())
    }

    /// The schema that a reference names, without following it further.
    pub(crate) fn lookup(&self, reference: &str) -> Result<&DynSchema, ReferenceError> {
        let path = SchemaPath::parse(reference)?;
        let root = schema_at!(self, &path.root);
        root.filter(|_| path.rest.is_empty()).ok_or_else(|| ReferenceError::Unresolved(reference.to_owned()))
    }
}

/// Follows references until a schema that is not one.
fn follow<'d, S>(
    reference: &str,
    lookup: impl Fn(&str) -> Result<&'d S, ReferenceError>,
    next: impl Fn(&'d S) -> Option<&'d str>,
) -> Result<&'d S, ReferenceError> {
    let mut schema = lookup(reference)?;
    let mut seen = HashSet::new();
    while let Some(alias) = next(schema) {
        if !seen.insert(alias) {
            return Err(ReferenceError::Circular(reference.to_owned()));
        }
        schema = lookup(alias)?;
    }
    Ok(schema)
}

/// A reference to a schema of the document, in its parts.
pub(crate) struct SchemaPath<'r> {
    pub(crate) root: SchemaRoot,
    /// The steps below the root.
    pub(crate) rest: Vec<Cow<'r, str>>,
}

/// A schema that a document has directly.
pub(crate) enum SchemaRoot {
    /// One of `schemas`, also where other formats keep them.
    Named(String),
    /// The schema of a parameter, by the index of its function and its own.
    Parameter(usize, usize),
    /// The schema of the return value of a function, by index.
    Return(usize),
}

impl<'r> SchemaPath<'r> {
    pub(crate) fn parse(reference: &'r str) -> Result<Self, ReferenceError> {
        if !reference.starts_with('#') {
            return Err(ReferenceError::Remote(reference.to_owned()));
        }
        let unresolved = || ReferenceError::Unresolved(reference.to_owned());
        let mut steps: Vec<_> = reference_tokens(reference).ok_or_else(unresolved)?.collect();
        let parts: Vec<&str> = steps.iter().map(|step| &**step).collect();
        let index = |step: &str| step.parse().map_err(|_| unresolved());
        let (root, used) = match parts.as_slice() {
            ["schemas" | "definitions" | "$defs", name, ..] => (SchemaRoot::Named((*name).to_owned()), 2),
            ["components", "schemas", name, ..] => (SchemaRoot::Named((*name).to_owned()), 3),
            ["functions", function, "parameters", parameter, "schema", ..] => {
                (SchemaRoot::Parameter(index(function)?, index(parameter)?), 5)
            }
            ["functions", function, "return", "schema", ..] => (SchemaRoot::Return(index(function)?), 4),
            _ => return Err(unresolved()),
        };
        let rest = steps.split_off(used);
        Ok(SchemaPath { root, rest })
    }
}

/// The reference to one of the document's `schemas`.
pub(crate) fn schema_reference(name: &str) -> String {
    let mut reference = "#/schemas/".to_owned();
    push_escaped(&mut reference, name);
    reference
}
