//! References by JSON pointer, and how they are followed in a typed document.

use foldhash::{HashSet, HashSetExt as _};

pub(crate) use crate::json::pointer::{push_escaped, reference_tokens as pointer_steps};
use crate::{OpenTool, Schema};

/// Why a reference could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The reference does not start with `#/`: it is no pointer into this document.
    #[error("`{0}` does not refer to this document")]
    Remote(String),
    /// The document has no schema there.
    #[error("`{0}` leads to no schema of this document")]
    Unresolved(String),
    /// The reference leads to references only, round in a circle.
    #[error("`{0}` leads back to itself and never to a schema")]
    Circular(String),
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
        let mut schema = self.lookup(reference)?;
        let mut seen = HashSet::new();
        while let Some(next) = schema.reference.as_deref() {
            if !seen.insert(next) {
                return Err(ReferenceError::Circular(reference.to_owned()));
            }
            schema = self.lookup(next)?;
        }
        Ok(schema)
    }

    /// The schema that a reference names, one step.
    pub(crate) fn lookup(&self, reference: &str) -> Result<&Schema, ReferenceError> {
        let unresolved = || ReferenceError::Unresolved(reference.to_owned());
        if !reference.starts_with('#') {
            return Err(ReferenceError::Remote(reference.to_owned()));
        }
        let steps: Vec<_> = pointer_steps(reference).ok_or_else(unresolved)?.collect();
        let steps: Vec<&str> = steps.iter().map(|step| &**step).collect();
        let (root, rest) = match steps.as_slice() {
            ["schemas" | "definitions" | "$defs", name, rest @ ..] | ["components", "schemas", name, rest @ ..] => {
                (self.schemas.as_ref().and_then(|schemas| schemas.get(*name)), rest)
            }
            ["functions", function, "parameters", parameter, "schema", rest @ ..] => {
                let function = index(function).and_then(|index| self.functions.get(index));
                let parameter = function.and_then(|function| function.parameters.get(index(parameter)?));
                (parameter.map(|parameter| &parameter.schema), rest)
            }
            ["functions", function, "return", "schema", rest @ ..] => {
                let function = index(function).and_then(|index| self.functions.get(index));
                (function.and_then(|function| function.returns.as_ref()).map(|returns| &returns.schema), rest)
            }
            _ => (None, &[][..]),
        };
        let mut schema = root.ok_or_else(unresolved)?;
        let mut rest = rest;
        loop {
            let (next, after) = match rest {
                [] => return Ok(schema),
                ["properties", name, after @ ..] => {
                    (schema.properties.as_ref().and_then(|properties| properties.get(*name)), after)
                }
                ["items", after @ ..] => (schema.items.as_deref(), after),
                _ => (None, rest),
            };
            schema = next.ok_or_else(unresolved)?;
            rest = after;
        }
    }
}

fn index(step: &str) -> Option<usize> {
    step.parse().ok()
}
