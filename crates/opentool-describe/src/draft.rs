//! A function of the document while it is written: [`FunctionDraft`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use opentool_spec::{CTypeName, DynFunction, SchemaType};

use crate::comments::Comment;
use crate::ctype::{Enumeration, Signature};
use crate::declarations::Declarations;

/// How many values of an enumeration a description names.
const VALUES: usize = 24;

/// A function that a document can describe.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) function: DynFunction,
    /// Guesses for a person to check: the parameter or return value, or nothing for the function itself, and why.
    pub(crate) reviews: Vec<(Option<String>, String)>,
    /// The structs that it returns as handles, and those that it takes as such.
    pub(crate) makes: BTreeSet<Rc<str>>,
    pub(crate) takes: BTreeSet<Rc<str>>,
}

/// The structs that callers know as handles.
#[derive(Debug)]
pub(crate) struct Handles<'d> {
    declarations: &'d Declarations,
    keys: HashSet<Rc<str>>,
}

impl<'d> Handles<'d> {
    /// Finds the structs that are handles: those without fields in the headers, and those that the functions return.
    pub(crate) fn new(declarations: &'d Declarations, signatures: &[&Signature]) -> Self {
        let opaque =
            declarations.records.iter().filter(|(_, record)| record.fields.is_none()).map(|(key, _)| key.clone());
        let mut handles: HashSet<_> = opaque.collect();
        for signature in signatures {
            handles.extend(signature.returns.pointee().and_then(|target| target.record()));
            for (_, kind) in &signature.parameters {
                handles.extend(kind.pointee().and_then(|target| target.pointee()).and_then(|target| target.record()));
            }
        }
        Self { declarations, keys: handles }
    }

    /// Whether callers know the struct as a handle.
    pub(crate) fn contains(&self, key: &Rc<str>) -> bool {
        self.keys.contains(key)
    }

    /// Whether the headers say what is in the struct.
    pub(crate) fn has_fields(&self, key: &Rc<str>) -> bool {
        self.declarations.records.get(key).is_some_and(|record| record.fields.is_some())
    }

    /// What callers call the struct.
    pub(crate) fn name(&self, key: &str) -> String {
        let name = self.declarations.records.get(key).map_or(key, |record| record.name.as_str());
        name.trim_start_matches("struct ").trim_start_matches("union ").to_owned()
    }
}

/// The names of the parameters: those of the header without the underscores of the system's, each of them once.
pub(crate) fn parameter_names(handles: &Handles<'_>, signature: &Signature) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let plain = signature.parameters.iter().enumerate().map(|(index, (name, kind))| {
        let own = name.as_deref().map(|name| name.trim_matches('_')).filter(|name| !name.is_empty());
        let handle = || {
            let target = kind.pointee()?;
            let key = target.record().or_else(|| target.pointee()?.record())?;
            Some(handles.name(&key))
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
    pub(crate) handles: &'m Handles<'d>,
    pub(crate) comment: Option<&'m Comment>,
    pub(crate) made: Described,
    /// Guesses about the function as a whole.
    pub(crate) of_function: Vec<&'static str>,
    pub(crate) names: Vec<String>,
    pub(crate) signature: &'m Signature,
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
