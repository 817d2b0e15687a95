//! From prototypes to the functions of a document.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use opentool_spec::{CType, CTypeName, DynFunction, DynParameter, DynReturn, DynSchema, SchemaType};
use serde_json::Value;

use super::comments::Comment;
use super::ctype::{Enumeration, Kind, Signature, Type};
use super::declarations::Declarations;

/// The ends of names that say that a function ends what it is given.
const ENDINGS: [&str; 7] = ["close", "free", "destroy", "finalize", "delete", "release", "dispose"];
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
    handles: HashSet<Rc<str>>,
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
            names: names(self, signature),
            signature,
        };
        let mut index = 0;
        while index < signature.parameters.len() {
            index += making.parameter(index)?;
        }
        making.returned()?;
        making.judge_by_name(name);
        Ok(making.made)
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
struct Making<'m, 'd> {
    mapper: &'m Mapper<'d>,
    comment: Option<&'m Comment>,
    made: Described,
    names: Vec<String>,
    signature: &'m Signature,
}

/// A parameter under way.
struct Draft {
    parameter: DynParameter,
    review: Option<String>,
}

impl Draft {
    fn new(name: &str, schema_type: SchemaType, c_type: CType) -> Self {
        Self { parameter: DynParameter::new(name, DynSchema::new(schema_type, c_type)), review: None }
    }

    fn out(mut self) -> Self {
        self.parameter = self.parameter.out();
        self
    }

    fn optional(mut self) -> Self {
        self.parameter.required = false;
        self
    }

    fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.parameter.extra.insert(key.to_owned(), value.into());
        self
    }

    fn review(mut self, reason: impl Into<String>) -> Self {
        self.review = Some(reason.into());
        self
    }
}

impl Making<'_, '_> {
    /// Describes the parameter at an index and, where it is one, its length; returns how many they are.
    fn parameter(&mut self, index: usize) -> Result<usize, String> {
        let kind = &self.signature.parameters[index].1;
        let name = self.names[index].clone();
        if let Some(scalar) = kind.scalar() {
            let mut draft = Draft::new(&name, seen_as(scalar), CType::value(scalar));
            draft.parameter.description = kind.enumeration().and_then(|values| one_of(&values));
            self.push(index, draft);
            return Ok(1);
        }
        let told = || format!("takes `{}`", kind.declare(&name));
        let Some(target) = kind.pointee() else {
            return Err(match kind.resolved().kind {
                Kind::Record(_) => format!("{}, a struct by value", told()),
                Kind::Function(_) => format!("{}, a callback", told()),
                Kind::VaList => format!("{}, a list of any arguments", told()),
                _ => format!("{}, which the spec has no type for", told()),
            });
        };
        if target.is_function() {
            return Err(format!("{}, a callback", told()));
        }
        if let Some(key) = target.record() {
            return self.record(index, &key, &told()).map(|()| 1);
        }
        if let Some(inner) = target.pointee() {
            return self.pointer_to_pointer(index, &inner, &told()).map(|()| 1);
        }
        if target.is_bytes() {
            return self.bytes(index, &target, &told());
        }
        match target.scalar() {
            Some(scalar) => Ok(self.scalars(index, &target, scalar)),
            None => Err(format!("{}, which the spec has no type for", told())),
        }
    }

    fn record(&mut self, index: usize, key: &Rc<str>, told: &str) -> Result<(), String> {
        if !self.mapper.handles.contains(key) {
            return Err(format!("{told}, a struct that the caller must make"));
        }
        self.made.takes.insert(key.clone());
        let handle = self.mapper.handle_name(key);
        let draft = Draft::new(&self.names[index], SchemaType::String, CType::pointer(CTypeName::Void));
        self.push(index, draft.key("x-handle", handle));
        Ok(())
    }

    fn pointer_to_pointer(&mut self, index: usize, inner: &Type, told: &str) -> Result<(), String> {
        let name = self.names[index].clone();
        if let Some(key) = inner.record().filter(|key| self.mapper.handles.contains(key)) {
            self.made.makes.insert(key.clone());
            let handle = self.mapper.handle_name(&key);
            let draft = Draft::new(&name, SchemaType::String, CType::pointer(CTypeName::Void)).out();
            self.push(index, draft.key("x-handle", handle));
            return Ok(());
        }
        if inner.is_bytes() && !inner.is_void() {
            // Nobody ever has a handle of this kind, so that NULL is all that can be passed.
            let draft = Draft::new(&name, SchemaType::String, CType::pointer(CTypeName::Void)).optional();
            let mut draft = draft.key("x-handle", "NULL");
            draft.parameter.description = Some("Always NULL.".to_owned());
            let told = told.trim_start_matches("takes ");
            self.push(
                index,
                draft.review(format!("{told} is always passed as NULL: remove the function if it may not be")),
            );
            return Ok(());
        }
        Err(format!("{told}, a pointer to a pointer"))
    }

    /// Text, or bytes with their length.
    fn bytes(&mut self, index: usize, target: &Type, told: &str) -> Result<usize, String> {
        let name = self.names[index].clone();
        let is_text = matches!(target.resolved().kind, Kind::Scalar(CTypeName::Char));
        let scalar = if is_text { CTypeName::Char } else { CTypeName::UnsignedChar };
        let draft = Draft::new(&name, SchemaType::String, CType::pointer(scalar));
        let encoded = |draft: Draft| if is_text { draft } else { draft.key("x-encoding", "base64") };
        let direction = self.said(index).and_then(|said| said.direction);
        let goes_in = direction.map_or(target.is_const, |(_, out)| !out);
        let length = self.length_after(index, if goes_in { &["len", "size", "byte"] } else { &LENGTHS });
        let Some((length, by_pointer)) = length else {
            if target.is_void() {
                return Err(format!("{told}, an address without a length"));
            }
            let told = told.trim_start_matches("takes ");
            self.push(index, match (goes_in, is_text) {
                (true, true) => draft,
                (true, false) => draft.review(format!("{told} is taken as text: where it holds other bytes, say `x-encoding`")),
                (false, _) => draft.out().key("x-size", 4096).review(format!(
                    "{told} is taken as a buffer of 4096 bytes that the function fills: say in `x-size` how many it may need, or `\"isIn\": true` where it is read"
                )),
            });
            return Ok(1);
        };
        let counter = self.names[length].clone();
        let counter_kind = &self.signature.parameters[length].1;
        if goes_in && by_pointer {
            // What counts by a pointer may be an output of its own: then the pair is beyond guessing.
            let unsure =
                || format!("whether `{counter}` is its length is not known: if so, name it in `x-lengthParam`");
            self.push(index, if is_text { draft } else { encoded(draft).review(unsure()) });
            return Ok(1);
        }
        if goes_in {
            self.push(index, encoded(draft).key("x-lengthParam", counter.clone()));
            let scalar = counter_kind.scalar().unwrap_or(CTypeName::Int);
            let draft = Draft::new(&counter, SchemaType::Integer, CType::value(scalar)).optional();
            self.push_described(
                length,
                draft,
                &format!("The length of `{name}`; it follows from that where it is left out."),
            );
            return Ok(2);
        }
        let draft = encoded(draft.out()).key("x-sizeParam", counter.clone());
        if by_pointer {
            self.push(index, draft.key("x-lengthParam", counter.clone()).review(format!(
                "`{counter}` is taken as the size of the buffer before the call, and the length of its content after it"
            )));
            let scalar = counter_kind.pointee().and_then(|target| target.scalar()).unwrap_or(CTypeName::Int);
            let draft = Draft::new(&counter, SchemaType::Integer, CType::pointer(scalar)).out();
            self.push_described(
                length,
                draft,
                &format!("The size of the buffer for `{name}`; afterwards, how much of it was used."),
            );
        } else {
            self.push(index, if is_text {
                draft
            } else {
                draft.review("the whole buffer is given back: where the function says how much it wrote, name that in `x-lengthParam`")
            });
            let scalar = counter_kind.scalar().unwrap_or(CTypeName::Int);
            let draft = Draft::new(&counter, SchemaType::Integer, CType::value(scalar));
            self.push_described(length, draft, &format!("The size of the buffer for `{name}`."));
        }
        Ok(2)
    }

    /// One number behind a pointer, or many with their length.
    fn scalars(&mut self, index: usize, target: &Type, scalar: CTypeName) -> usize {
        let (name, kind) = (self.names[index].clone(), &self.signature.parameters[index].1);
        let told = format!("`{}`", kind.declare(&name));
        let direction = self.said(index).and_then(|said| said.direction);
        let goes_in = direction.map_or(target.is_const, |(_, out)| !out);
        let array = Draft::new(&name, SchemaType::Array, CType::pointer(scalar));
        if let Kind::Array(_, Some(length)) = kind.resolved().kind {
            let draft = if goes_in { array } else { array.out().key("x-size", length) };
            let draft = match direction {
                None if !goes_in => {
                    draft.review(format!("{told} is taken as output: say `\"isIn\": true` where it is read"))
                }
                _ => draft,
            };
            self.push(index, draft);
            return 1;
        }
        if let Some((length, false)) = self.length_after(index, &LENGTHS) {
            let counter = self.names[length].clone();
            let of_counter = self.signature.parameters[length].1.scalar().unwrap_or(CTypeName::Int);
            let counted = Draft::new(&counter, SchemaType::Integer, CType::value(of_counter));
            if goes_in {
                self.push(index, array.key("x-lengthParam", counter.clone()));
                let text = format!("The number of elements of `{name}`; it follows from that where it is left out.");
                self.push_described(length, counted.optional(), &text);
            } else {
                let draft = array.out().key("x-sizeParam", counter.clone());
                self.push(
                    index,
                    match direction {
                        Some(_) => draft,
                        None => draft.review(format!(
                            "{told} is taken as an array of `{counter}` elements that the function fills"
                        )),
                    },
                );
                self.push_described(length, counted, &format!("The number of elements of `{name}`."));
            }
            return 2;
        }
        let draft = Draft::new(&name, seen_as(scalar), CType::pointer(scalar));
        self.push(
            index,
            match (goes_in, direction) {
                (true, Some(_)) => draft,
                (true, None) => draft
                    .review(format!("{told} is taken as one value: where it is an array, say `\"type\": \"array\"`")),
                (false, Some(_)) => draft.out(),
                (false, None) => {
                    draft.out().review(format!("{told} is taken as output: say `\"isIn\": true` where it is read"))
                }
            },
        );
        1
    }

    /// The index of the parameter after one, where it is its length, and whether it is passed by pointer.
    fn length_after(&self, index: usize, words: &[&str]) -> Option<(usize, bool)> {
        let (name, kind) = self.signature.parameters.get(index + 1)?;
        let name = name.as_deref().unwrap_or_default().trim_start_matches('_');
        let by_pointer = !kind.is_integer();
        let counted = match kind.pointee() {
            Some(target) if by_pointer => {
                Some(target).filter(|target| target.is_integer() && !target.is_const && !target.is_bytes())?
            }
            _ if by_pointer => return None,
            _ => kind.clone(),
        };
        let lower = name.to_lowercase();
        // `nByte`, `n_items`, `n`: the Hungarian way.
        let hungarian = name
            .strip_prefix('n')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(|char: char| char.is_uppercase() || char == '_'));
        let is_length =
            hungarian || words.iter().any(|word| lower.contains(word)) || counted.is_named(&["size_t", "ssize_t"]);
        (is_length && counted.enumeration().is_none()).then_some((index + 1, by_pointer))
    }

    fn said(&self, index: usize) -> Option<&super::comments::OfParameter> {
        let own = self.signature.parameters[index].0.as_deref()?;
        self.comment?.parameters.get(own)
    }

    fn push(&mut self, index: usize, draft: Draft) {
        self.push_described(index, draft, "");
    }

    /// Adds a parameter; what the header says about it goes before what is known of it.
    fn push_described(&mut self, index: usize, mut draft: Draft, otherwise: &str) {
        let said = self.said(index).map(|said| said.text.clone()).filter(|text| !text.is_empty());
        let known = draft.parameter.description.take();
        draft.parameter.description = match (said, known) {
            (Some(said), Some(known)) => Some(format!("{said} {known}")),
            (Some(text), None) | (None, Some(text)) => Some(text),
            (None, None) => (!otherwise.is_empty()).then(|| otherwise.to_owned()),
        };
        if let Some(reason) = draft.review {
            draft.parameter.extra.insert("x-review".to_owned(), reason.clone().into());
            self.made.reviews.push((Some(draft.parameter.name.clone()), reason));
        }
        self.made.function.parameters.push(draft.parameter);
    }

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
                review = Some("the pointer is taken to point to one value: where it is an array, say `\"type\": \"array\"` and `x-size`".to_owned());
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
            let reason = "the function is taken to return 0 for success, and anything else for an error";
            function.extra.insert("x-returnsCode".to_owned(), true.into());
            function.extra.insert("x-review".to_owned(), reason.into());
            self.made.reviews.push((None, reason.to_owned()));
        }
    }
}

const LENGTHS: [&str; 8] = ["len", "size", "byte", "count", "cap", "max", "num", "sz"];

/// Whether the name says that something ends: `sqlite3_close_v2`, `gzclose`, `widget_free`.
fn ends_something(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = match name.rsplit_once("_v") {
        Some((name, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => name,
        // `gzclose_r` and `gzclose_w`.
        _ if name.as_bytes().iter().rev().nth(1) == Some(&b'_') => &name[..name.len() - 2],
        _ => name.as_str(),
    };
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The type that callers see.
fn seen_as(scalar: CTypeName) -> SchemaType {
    match scalar {
        CTypeName::Bool => SchemaType::Boolean,
        CTypeName::Float | CTypeName::Double => SchemaType::Number,
        _ => SchemaType::Integer,
    }
}

/// `0 (RED), 1 (GREEN)`.
fn one_of(enumeration: &Enumeration) -> Option<String> {
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
