//! A function of the document while it is written: [`FunctionDraft`].

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use opentool_spec::{CTypeName, DynFunction, DynSchema, SchemaType};
use serde_json::{Map, Value};

use crate::comments::{Comment, ParameterComment};
use crate::ctype::{Enumeration, Signature};
use crate::evidence::Evidence;
use crate::families::Families;
use crate::macros::Macros;
use crate::records::{RecordRole, Records};
use crate::roles::Roles;
use crate::words;

/// How many values of an enumeration a description names.
const VALUES: usize = 24;

/// A function that a document can describe.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) function: DynFunction,
    /// Guesses for a person to check: the parameter or return value, or nothing for the function itself, and why.
    pub(crate) reviews: Vec<(Option<String>, String)>,
    /// The objects that it returns as handles, and those that it needs as such, with the parameter.
    pub(crate) makes: BTreeSet<Rc<str>>,
    pub(crate) takes: BTreeSet<(Rc<str>, String)>,
    /// The structs whose fields callers see.
    pub(crate) structs: BTreeSet<Rc<str>>,
}

impl Described {
    /// Marks a parameter, besides what it may be marked for already.
    pub(crate) fn mark(&mut self, parameter: &str, reason: &str) {
        let Some(found) = self.function.parameters.iter_mut().find(|other| other.name == parameter) else { return };
        let known = self.reviews.iter_mut().find(|(value, _)| value.as_deref() == Some(parameter));
        let text = match known {
            Some((_, known)) => {
                known.push_str("; ");
                known.push_str(reason);
                known.clone()
            }
            None => {
                self.reviews.push((Some(parameter.to_owned()), reason.to_owned()));
                reason.to_owned()
            }
        };
        found.extra.insert("x-review".to_owned(), text.into());
    }
}

/// The names of the parameters: those of the header without the underscores of the system's, each of them once.
pub(crate) fn parameter_names(records: &Records<'_>, signature: &Signature) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let plain = signature.parameters.iter().enumerate().map(|(index, (name, kind))| {
        let own = name.as_deref().map(|name| name.trim_matches('_')).filter(|name| !name.is_empty());
        let handle = || {
            let key = records.behind(kind).or_else(|| records.behind(&kind.pointee()?))?;
            Some(records.name(&key))
        };
        own.map(str::to_owned).or_else(handle).unwrap_or_else(|| format!("arg{}", index + 1))
    });
    plain
        .map(|name| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 { name } else { format!("{name}{count}") }
        })
        .collect()
}

/// A function of the document while it is written.
pub(crate) struct FunctionDraft<'m, 'd> {
    pub(crate) records: &'m Records<'d>,
    pub(crate) name: &'m str,
    pub(crate) comment: Option<&'m Comment>,
    pub(crate) evidence: Evidence<'m>,
    pub(crate) macros: &'m Macros,
    pub(crate) made: Described,
    /// Guesses about the function as a whole.
    pub(crate) of_function: Vec<String>,
    pub(crate) names: Vec<String>,
    /// What the return value is called.
    pub(crate) result: String,
    pub(crate) signature: &'m Signature,
    pub(crate) roles: Roles,
    /// The functions that free what they are given as `void *` or `char *`.
    pub(crate) freeing: &'m [String],
    pub(crate) families: &'m Families,
    /// The addresses that callbacks are given, and those that are always NULL.
    pub(crate) user_data: Vec<usize>,
    pub(crate) nothing: Vec<usize>,
    /// Whether what goes in must outlive the call, since the function would free it.
    pub(crate) keeps_inputs: bool,
    /// The parameters that count structs which go in.
    pub(crate) counts_structs: Vec<usize>,
}

impl FunctionDraft<'_, '_> {
    pub(crate) fn said(&self, index: usize) -> Option<&ParameterComment> {
        let own = self.signature.parameters[index].0.as_deref()?;
        self.comment?.parameters.get(own)
    }

    /// The name of a parameter in the header.
    pub(crate) fn own_name(&self, index: usize) -> &str {
        self.signature.parameters[index].0.as_deref().unwrap_or_default()
    }

    /// The parameter after one, where it is its length by value.
    pub(crate) fn counter_after(&self, index: usize) -> Option<usize> {
        let (name, kind) = self.signature.parameters.get(index + 1)?;
        let name = name.as_deref().unwrap_or_default().trim_start_matches('_');
        let counts = words::counts(name) || name == "n" || kind.is_named(&["size_t", "ssize_t"]);
        (kind.is_integer() && counts && !words::is_setting(name)).then_some(index + 1)
    }

    /// Asks who frees something, with the function that may be meant.
    pub(crate) fn who_frees(&self, what: &str) -> String {
        let own = words::split(self.name);
        let is_near = |function: &&String| {
            let words = words::split(function);
            words.last().is_some_and(|last| last == "free") && own.starts_with(&words[..words.len() - 1])
        };
        let perhaps =
            self.freeing.iter().find(is_near).map(|function| format!(", perhaps `{function}`")).unwrap_or_default();
        format!("who frees {what} is not known: where the caller must, name the function in `x-free`{perhaps}")
    }

    /// A reference to the schema of a struct, which the document must have then.
    pub(crate) fn reference(&mut self, key: &Rc<str>) -> Option<DynSchema> {
        (self.records.role(key) == Some(RecordRole::Value)).then_some(())?;
        self.made.structs.insert(key.clone());
        let mut schema = DynSchema::default();
        schema.reference = Some(schema_path(self.records, key));
        Some(schema)
    }
}

/// Where the document has the schema of a struct.
pub(crate) fn schema_path(records: &Records<'_>, key: &str) -> String {
    format!("#/schemas/{}", records.name(key))
}

/// The type that callers see.
pub(crate) fn seen_as(scalar: CTypeName) -> SchemaType {
    match scalar {
        CTypeName::Bool => SchemaType::Boolean,
        CTypeName::Float | CTypeName::Double => SchemaType::Number,
        _ => SchemaType::Integer,
    }
}

/// `0 (RED), 1 (GREEN)`.
pub(crate) fn one_of(enumeration: &Enumeration) -> Option<String> {
    let mut values: Vec<String> = enumeration
        .values
        .iter()
        .take(VALUES)
        .map(|(name, value)| match value {
            Some(value) => format!("{value} ({name})"),
            None => name.clone(),
        })
        .collect();
    if enumeration.values.len() > VALUES {
        values.push(format!("and {} more", enumeration.values.len() - VALUES));
    }
    (!values.is_empty()).then(|| format!("One of {}.", values.join(", ")))
}

/// The names of an enumeration's values (`x-values`), and whether they are flags (`x-flags`).
pub(crate) fn constants(enumeration: &Enumeration) -> Option<(Map<String, Value>, bool)> {
    let mut values = Map::new();
    for (name, value) in &enumeration.values {
        let value = (*value)?;
        let number = i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from));
        values.insert(name.clone(), number.ok()?);
    }
    if values.is_empty() {
        return None;
    }
    let numbers = || enumeration.values.iter().filter_map(|(_, value)| *value).filter(|value| *value > 0);
    let single = numbers().filter(|value| value.count_ones() == 1).count();
    let named =
        enumeration.tag.as_deref().is_some_and(|tag| words::has_any(tag, &["flag", "flags", "options", "mask"]));
    // 0, 1, 2, 4, 8: names to be put together; 0, 1, 2 are plain ones.
    let is_flags = (single >= 3 && single * 4 >= numbers().count() * 3 && !numbers().any(|value| value == 3))
        || (named && single >= 2);
    Some((values, is_flags))
}
