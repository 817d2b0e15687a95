//! From prototypes to the functions of a document.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use opentool_spec::{CType, CTypeName, DynFunction, DynReturn, DynSchema, SchemaType};

use super::comments::Comment;
use super::ctype::{Enumeration, Kind, Signature};
use super::declarations::Declarations;

/// The ends of names that say that a function ends what it is given.
const ENDINGS: [&str; 14] = [
    "close",
    "free",
    "destroy",
    "finalize",
    "delete",
    "release",
    "dispose",
    "unref",
    "finish",
    "cleanup",
    "deinit",
    "uninit",
    "terminate",
    "teardown",
];
/// Those that other words end with too (`send`, `infini`), so that they count only as words of their own.
const LAST_WORDS: [&str; 3] = ["end", "fini", "term"];
/// How many values of an enumeration a description names.
const VALUES: usize = 24;

/// A function that a document can describe.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub(super) function: DynFunction,
    /// What somebody should look at: the parameter or return value, or nothing for the function itself, and why.
    pub(super) reviews: Vec<(Option<String>, String)>,
    /// The structs that it hands out as handles, and those that it takes as such.
    pub(super) makes: BTreeSet<Rc<str>>,
    pub(super) takes: BTreeSet<Rc<str>>,
}

/// Makes functions of prototypes.
#[derive(Debug)]
pub(super) struct Mapper<'d> {
    declarations: &'d Declarations,
    /// Structs that callers know as handles.
    pub(super) handles: HashSet<Rc<str>>,
}

impl<'d> Mapper<'d> {
    /// Learns which structs are handles: those whose fields nobody sees, and those that the functions hand out.
    pub(super) fn new(declarations: &'d Declarations, signatures: &[&Signature]) -> Self {
        let opaque =
            declarations.records.iter().filter(|(_, record)| record.fields.is_none()).map(|(key, _)| key.clone());
        let mut handles: HashSet<_> = opaque.collect();
        for signature in signatures {
            handles.extend(signature.returns.pointee().and_then(|target| target.record()));
            for (_, kind) in &signature.parameters {
                handles.extend(kind.pointee().and_then(|target| target.pointee()).and_then(|target| target.record()));
            }
        }
        Self { declarations, handles }
    }

    /// What callers call the struct.
    pub(super) fn handle_name(&self, key: &str) -> String {
        let name = self.declarations.records.get(key).map_or(key, |record| record.name.as_str());
        name.trim_start_matches("struct ").trim_start_matches("union ").to_owned()
    }

    /// Describes a function, or says why it cannot be.
    pub(super) fn function(
        &self,
        name: &str,
        signature: &Signature,
        comment: Option<&Comment>,
    ) -> Result<Described, String> {
        if signature.is_variadic {
            return Err("takes any number of arguments (`...`)".to_owned());
        }
        if signature.is_unspecified {
            return Err("is declared without its parameters: `()` says nothing, `(void)` says none".to_owned());
        }
        let description = match comment.map(|comment| comment.text.as_str()) {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => format!("The C function `{}`.", signature.prototype(name)),
        };
        let mut making = Making {
            mapper: self,
            comment,
            made: Described {
                function: DynFunction::new(name, description),
                reviews: Vec::new(),
                makes: BTreeSet::new(),
                takes: BTreeSet::new(),
            },
            of_function: Vec::new(),
            names: names(self, signature),
            signature,
        };
        let mut index = 0;
        while index < signature.parameters.len() {
            index += making.parameter(index)?;
        }
        making.returned()?;
        making.judge_by_name(name);
        making.judge_comment();
        Ok(making.finish())
    }
}

/// The names of the parameters: those of the header without the underscores of the system's, each of them once.
fn names(mapper: &Mapper<'_>, signature: &Signature) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let plain = signature.parameters.iter().enumerate().map(|(index, (name, kind))| {
        let own = name.as_deref().map(|name| name.trim_matches('_')).filter(|name| !name.is_empty());
        let handle = || {
            let target = kind.pointee()?;
            let key = target.record().or_else(|| target.pointee()?.record())?;
            Some(mapper.handle_name(&key))
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

/// A function under way.
pub(super) struct Making<'m, 'd> {
    pub(super) mapper: &'m Mapper<'d>,
    pub(super) comment: Option<&'m Comment>,
    pub(super) made: Described,
    /// What somebody should look at in the function as a whole.
    of_function: Vec<&'static str>,
    pub(super) names: Vec<String>,
    pub(super) signature: &'m Signature,
}

impl Making<'_, '_> {
    fn returned(&mut self) -> Result<(), String> {
        let kind = &self.signature.returns;
        let told = || format!("returns `{}`", kind.declare(""));
        if kind.is_void() {
            return Ok(());
        }
        let mut name = "result".to_owned();
        while self.names.contains(&name) {
            name.insert_str(0, "the_");
        }
        let mut review = None;
        let mut returns = if let Some(scalar) = kind.scalar() {
            let mut returns = DynReturn::new(&name, DynSchema::new(seen_as(scalar), CType::value(scalar)));
            returns.description = kind.enumeration().and_then(|values| one_of(&values));
            returns
        } else {
            let Some(target) = kind.pointee() else {
                return Err(match kind.resolved().kind {
                    Kind::Record(_) => format!("{}, a struct by value", told()),
                    _ => format!("{}, which the spec has no type for", told()),
                });
            };
            if let Some(key) = target.record() {
                if self.mapper.declarations.records.get(&key).is_some_and(|record| record.fields.is_some()) {
                    review = Some("the struct is given as a handle: its fields stay out of sight".to_owned());
                }
                self.made.makes.insert(key.clone());
                let mut returns =
                    DynReturn::new(&name, DynSchema::new(SchemaType::String, CType::pointer(CTypeName::Void)));
                returns.extra.insert("x-handle".to_owned(), self.mapper.handle_name(&key).into());
                returns
            } else if target.is_void() {
                return Err(format!("{}, an address of unknown content", told()));
            } else if target.is_bytes() {
                if !target.is_const {
                    review = Some(
                        "who frees the text is not known: where the caller must, name the function in `x-free`"
                            .to_owned(),
                    );
                }
                let scalar = target.scalar().unwrap_or(CTypeName::Char);
                DynReturn::new(&name, DynSchema::new(SchemaType::String, CType::pointer(scalar)))
            } else if let Some(scalar) = target.scalar() {
                review = Some(
                    "the pointer is taken to point to one value: where it is an array, say `\"type\": \"array\"` and \
                     `x-size`"
                        .to_owned(),
                );
                DynReturn::new(&name, DynSchema::new(seen_as(scalar), CType::pointer(scalar)))
            } else if target.is_function() {
                return Err(format!("{}, a function", told()));
            } else {
                return Err(format!("{}, a pointer to a pointer", told()));
            }
        };
        if let Some(said) = self.comment.and_then(|comment| comment.returns.clone()) {
            returns.description = Some(match returns.description.take() {
                Some(known) => format!("{said} {known}"),
                None => said,
            });
        }
        if let Some(reason) = review {
            returns.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(name), reason));
        }
        self.made.function.returns = Some(returns);
        Ok(())
    }

    /// What only the name of the function and the shape of its parameters suggest.
    fn judge_by_name(&mut self, name: &str) {
        let ends = ends_something(name);
        let function = &mut self.made.function;
        let mut handles = function
            .parameters
            .iter_mut()
            .filter(|parameter| parameter.is_in && parameter.required && parameter.extra.contains_key("x-handle"));
        let closes = match (handles.next(), handles.next()) {
            (Some(only), None) if ends => {
                let reason = "by the name of the function, the handle ends with it";
                only.extra.insert("x-closes".to_owned(), true.into());
                only.extra.insert("x-review".to_owned(), reason.into());
                self.made.reviews.push((Some(only.name.clone()), reason.to_owned()));
                true
            }
            _ => false,
        };
        let hands_out =
            function.parameters.iter().any(|parameter| !parameter.is_in && parameter.extra.contains_key("x-handle"));
        let returns_int = matches!(self.signature.returns.scalar(), Some(CTypeName::Int));
        if returns_int && (closes || hands_out) {
            function.extra.insert("x-returnsCode".to_owned(), true.into());
            self.of_function.push("the function is taken to return 0 for success, and anything else for an error");
        }
    }

    fn judge_comment(&mut self) {
        if self.comment.is_some_and(|comment| comment.is_shared) {
            self.of_function.push("its description is the comment of a function above it: say what this one does");
        }
    }

    fn finish(mut self) -> Described {
        if !self.of_function.is_empty() {
            let reasons = self.of_function.join("; ");
            self.made.function.extra.insert("x-review".to_owned(), reasons.clone().into());
            self.made.reviews.push((None, reasons));
        }
        self.made
    }
}

/// Whether the name says that something ends: `sqlite3_close_v2`, `gzclose`, `widget_free`, `inflateEnd`.
fn ends_something(name: &str) -> bool {
    let name = match name.rsplit_once("_v") {
        Some((name, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => name,
        // `gzclose_r` and `gzclose_w`.
        _ if name.as_bytes().iter().rev().nth(1) == Some(&b'_') => &name[..name.len() - 2],
        _ => name,
    };
    let lower = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending)) || LAST_WORDS.iter().any(|word| is_last_word(name, word))
}

/// Whether a word stands at the end of a name, after an underscore or with a capital letter.
fn is_last_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()).filter(|start| name.is_char_boundary(*start)) else {
        return false;
    };
    let (before, last) = name.split_at(start);
    last.eq_ignore_ascii_case(word)
        && (before.ends_with('_') || last.starts_with(|char: char| char.is_ascii_uppercase()))
}

/// The type that callers see.
pub(super) fn seen_as(scalar: CTypeName) -> SchemaType {
    match scalar {
        CTypeName::Bool => SchemaType::Boolean,
        CTypeName::Float | CTypeName::Double => SchemaType::Number,
        _ => SchemaType::Integer,
    }
}

/// `0 (RED), 1 (GREEN)`.
pub(super) fn one_of(enumeration: &Enumeration) -> Option<String> {
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
