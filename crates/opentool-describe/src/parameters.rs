//! From the parameters of prototypes to those of a document.

use std::rc::Rc;

use opentool_spec::{CType, CTypeName, SchemaType};

use crate::closing;
use crate::ctype::{Type, TypeKind};
use crate::draft::{FunctionDraft, constants, one_of, seen_as};
use crate::evidence::MayBeNull;
use crate::parameter_draft::ParameterDraft;
use crate::records::RecordRole;
use crate::words;

/// What the types have in their names of objects that settings are kept in, for which there often are default ones.
const SETTINGS: [&str; 14] = [
    "context",
    "ctx",
    "attr",
    "attributes",
    "opts",
    "options",
    "config",
    "params",
    "parameters",
    "alloc",
    "allocator",
    "locale",
    "engine",
    "settings",
];

/// What functions have in their names that change an object which is there, or move an iterator on.
const CHANGING: [&str; 13] = [
    "add", "append", "prepend", "insert", "push", "update", "extend", "remove", "replace", "resize", "realloc", "swap",
    "next",
];

impl FunctionDraft<'_, '_> {
    /// Describes the parameter at an index.
    pub(crate) fn parameter(&mut self, index: usize) -> Result<(), String> {
        let kind = &self.signature.parameters[index].1;
        let name = self.names[index].clone();
        let what = || format!("takes `{}`", kind.declare(&name));
        if self.nothing.contains(&index) {
            self.nothing(index, &what());
            return Ok(());
        }
        if self.user_data.contains(&index) {
            self.push(index, ParameterDraft::address(&name).optional().key("x-userData", true));
            return Ok(());
        }
        if let Some(scalar) = kind.scalar() {
            self.scalar(index, scalar);
            return Ok(());
        }
        if let Some(key) = kind.record() {
            return self.struct_value(index, &key).ok_or_else(|| format!("{}, a struct by value", what()));
        }
        if let Some(key) = self.records.behind(kind) {
            return self.object(index, &key, &what());
        }
        let Some(target) = kind.pointee() else {
            return Err(match kind.resolved().kind {
                TypeKind::Function(_) => return self.callback(index, &what()),
                TypeKind::VaList => format!("{}, a list of any arguments", what()),
                _ => format!("{}, which the spec has no type for", what()),
            });
        };
        if target.is_function() {
            return self.callback(index, &what());
        }
        if target.pointee().is_some() || self.records.behind(&target).is_some() {
            return self.pointer_to_pointer(index, &target, &what());
        }
        if target.is_bytes() {
            return self.bytes(index, &target, &what());
        }
        match target.scalar() {
            Some(scalar) => {
                self.scalars(index, scalar);
                Ok(())
            }
            None => Err(format!("{}, which the spec has no type for", what())),
        }
    }

    /// A number, which may count a buffer.
    fn scalar(&mut self, index: usize, scalar: CTypeName) {
        let kind = &self.signature.parameters[index].1;
        let mut draft = ParameterDraft::new(&self.names[index], seen_as(scalar), CType::value(scalar));
        if let Some(enumeration) = kind.enumeration() {
            draft.parameter.description = one_of(&enumeration);
            if let Some((values, is_flags)) = constants(&enumeration) {
                draft = draft.key("x-values", values);
                draft = if is_flags { draft.key("x-flags", true) } else { draft };
            }
        }
        let draft = draft.review_if(kind.is_named(&["uintptr_t"]), || {
            format!("`{}` may be an address: remove the function where it is", kind.declare(&self.names[index]))
        });
        let inputs: Vec<String> = self.counted(index, true);
        let outputs: Vec<String> = self.counted(index, false);
        let is_array = self.roles.counted_by(index).any(|(buffer, _)| !self.points_to_bytes(buffer));
        let amount = if is_array { "The number of elements of" } else { "The length of" };
        match (inputs.as_slice(), outputs.as_slice()) {
            ([], []) if self.counts_structs.contains(&index) => {
                self.push_described(
                    index,
                    draft.optional(),
                    "The number of structs; it follows from them where it is left out.",
                );
            }
            ([], []) => self.push(index, draft),
            ([], [first, ..]) => {
                let text = if is_array {
                    format!("The number of elements of `{first}`.")
                } else {
                    format!("The size of the buffer for `{first}`.")
                };
                self.push_described(index, draft, &text);
            }
            ([first, ..], _) => {
                let text = format!("{amount} `{first}`; it follows from that where it is left out.");
                self.push_described(index, draft.optional(), &text);
            }
        }
    }

    /// The names of the buffers that a parameter counts and that go one way.
    fn counted(&self, counter: usize, goes_in: bool) -> Vec<String> {
        let counted = self.roles.counted_by(counter).filter(|(_, role)| role.goes_in == goes_in);
        counted.map(|(buffer, _)| self.names[buffer].clone()).collect()
    }

    fn points_to_bytes(&self, index: usize) -> bool {
        self.signature.parameters[index].1.pointee().is_some_and(|target| target.is_bytes())
    }

    /// An object that a pointer stands for.
    fn object(&mut self, index: usize, key: &Rc<str>, what: &str) -> Result<(), String> {
        let Some(role) = self.records.role(key) else {
            // What cannot be made can only be left out.
            let named =
                words::has_any(&self.records.name(key), &SETTINGS) || words::has_any(self.own_name(index), &SETTINGS);
            return match self.evidence.null(self.own_name(index)) {
                Some(MayBeNull::Yes) => {
                    self.nothing(index, what);
                    Ok(())
                }
                None if named && index > 0 => {
                    self.nothing(index, what);
                    Ok(())
                }
                _ => Err(format!("{what}, a struct that the caller must make")),
            };
        };
        if role == RecordRole::Value && self.is_end_of_range(index) {
            self.nothing(index, what);
            return Ok(());
        }
        let (name, handle) = (self.names[index].clone(), self.records.name(key));
        match role {
            RecordRole::Value => {
                return self
                    .struct_pointer(index, key)
                    .ok_or_else(|| format!("{what}, a struct that the caller must make"));
            }
            RecordRole::Allocated if index == 0 && self.records.is_maker(self.name, key) => {
                let Some(size) = self.records.size(key) else {
                    return Err(format!("{what}, a struct of unknown size"));
                };
                self.made.makes.insert(key.clone());
                let draft = ParameterDraft::address(&name).out().key("x-handle", handle).key("x-allocate", size);
                self.push(
                    index,
                    draft.review("by the name of the function, it prepares the struct, which is allocated for it"),
                );
                return Ok(());
            }
            RecordRole::Handle | RecordRole::Allocated => {}
        }
        let draft = ParameterDraft::address(&name).key("x-handle", handle.clone());
        let draft = match self.evidence.null(self.own_name(index)) {
            Some(MayBeNull::Yes) => draft.optional(),
            Some(MayBeNull::No) => {
                self.made.takes.insert((key.clone(), name));
                draft
            }
            // Settings that come after what they are for have defaults, more often than not.
            None if self.is_beside_another(index)
                && words::has_any(&handle, &SETTINGS)
                && !closing::ends(self.name, &handle) =>
            {
                draft.optional().review(format!(
                    "NULL is passed where `{name}` is left out: say `\"required\": true` where it may not be"
                ))
            }
            None => {
                self.made.takes.insert((key.clone(), name));
                draft
            }
        };
        self.push(index, draft);
        Ok(())
    }

    /// Whether the function is about another object than the one at an index: one before it, or one that it makes.
    fn is_beside_another(&self, index: usize) -> bool {
        let is_object = |kind: &Type| self.records.behind(kind).is_some_and(|key| self.records.role(&key).is_some());
        let makes = is_object(&self.signature.returns)
            || self
                .signature
                .parameters
                .iter()
                .any(|(_, kind)| kind.pointee().is_some_and(|target| is_object(&target)));
        makes || self.signature.parameters[..index].iter().any(|(_, kind)| is_object(kind))
    }

    /// Whether a pointer is one of two that stand for a range: `tags_start` and `tags_end`.
    fn is_end_of_range(&self, index: usize) -> bool {
        let own = words::split(self.own_name(index));
        let other = match own.last().map(String::as_str) {
            Some("start" | "begin" | "first") => ["end", "last"],
            Some("end" | "last") => ["start", "begin"],
            _ => return false,
        };
        self.signature.parameters.iter().any(|(name, _)| {
            let name = words::split(name.as_deref().unwrap_or_default());
            let (Some(last), Some(stem)) = (name.last(), own.len().checked_sub(1)) else { return false };
            other.contains(&last.as_str()) && name[..name.len() - 1] == own[..stem]
        })
    }

    fn pointer_to_pointer(&mut self, index: usize, target: &Type, what: &str) -> Result<(), String> {
        let name = self.names[index].clone();
        if let Some(key) = self.records.behind(target).filter(|key| self.records.role(key) == Some(RecordRole::Handle))
        {
            let handle = self.records.name(&key);
            let may_be_dimension = self.is_counted(index) && self.makes_beside_dimension(index);
            let is_counted = self.is_counted(index) && !may_be_dimension;
            if target.is_const || self.is_array(index) || is_counted || self.is_counted_before(index) {
                return Err(format!("{what}, an array of handles"));
            }
            if closing::ends(self.name, &handle) || closing::clears(self.name) {
                let name = self.names[index].clone();
                self.made.takes.insert((key.clone(), name.clone()));
                self.push(index, ParameterDraft::address(&name).key("x-handle", handle).key("x-indirect", true));
                return Ok(());
            }
            self.made.makes.insert(key.clone());
            let draft = ParameterDraft::address(&name).out().key("x-handle", handle);
            let draft = draft.review_if(self.may_change_object(index, &key) || may_be_dimension, || {
                let what = what.trim_start_matches("takes ");
                format!(
                    "{what} is taken as an object that the function makes: remove the function where it changes one"
                )
            });
            self.push(index, draft);
            return Ok(());
        }
        let Some(inner) = target.pointee().filter(|_| !matches!(target.resolved().kind, TypeKind::Array(..))) else {
            return Err(format!("{what}, an array of arrays"));
        };
        // What is counted, or may not be written to, are many pointers that go in.
        if target.is_const || self.is_array(index) || self.is_counted(index) {
            let of = if inner.record().is_some() { "handles" } else { "texts" };
            return Err(format!("{what}, an array of {of}"));
        }
        if inner.is_bytes() {
            if self.said(index).and_then(|said| said.direction).is_some_and(|(goes_in, _)| goes_in) {
                return Err(format!("{what}, an address that goes in and comes out moved"));
            }
            if self.is_counted_before(index) {
                return Err(format!("{what}, an array of texts"));
            }
            return self.text_out(index, &inner, what);
        }
        Err(format!("{what}, a pointer to a pointer"))
    }

    /// Whether a parameter is declared as an array: `point *corners[]`.
    fn is_array(&self, index: usize) -> bool {
        matches!(self.signature.parameters[index].1.resolved().kind, TypeKind::Array(..))
    }

    /// `tree_create(tree **made, size_t dimension)`: what comes after an object that is made need not count objects.
    fn makes_beside_dimension(&self, index: usize) -> bool {
        let after = self.own_name(index + 1);
        words::makes(self.name) && !after.is_empty() && after != "n" && !words::counts(after)
    }

    /// Whether the object behind the address of a pointer may be there before the call.
    fn may_change_object(&self, index: usize, key: &Rc<str>) -> bool {
        // `bufset(buf **to, buf *from)` puts one object in the place of another, unless it makes a copy of it.
        let is_given = |(_, kind): &(Option<String>, Type)| {
            let is_same = self.records.behind(kind).is_some_and(|given| given == *key);
            is_same && kind.pointee().is_some_and(|target| !target.is_const)
        };
        if self.signature.parameters.iter().any(is_given) && !words::makes(self.name) {
            return true;
        }
        let said = self.said(index).map(|said| said.text.to_lowercase()).unwrap_or_default();
        let is_said = ["modif", "realloc", "updated", "append", "extend"].iter().any(|word| said.contains(word));
        let is_returned = self.records.behind(&self.signature.returns).is_some_and(|returned| returned == *key);
        // `listpush` is one word.
        let last = words::split(self.name).pop().unwrap_or_default();
        let is_changing = words::has_any(self.name, &CHANGING) || CHANGING.iter().any(|word| last.ends_with(word));
        // A function of nothing but that address, which returns nothing and is not named after making, may well end it.
        let is_all = self.signature.parameters.len() == 1 && self.signature.returns.is_void();
        is_said || is_returned || is_changing || (is_all && !words::makes(self.name))
    }

    /// Whether the parameter after one is its length, by value.
    fn is_counted(&self, index: usize) -> bool {
        self.counter_after(index).is_some()
    }

    /// Whether the parameter before one counts it and nothing else: `int argc, char **argv`.
    fn is_counted_before(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        let (Some(name), kind) = &self.signature.parameters[before] else { return false };
        let counts_another = self.roles.counted_by(before).next().is_some();
        let is_named = name == "n" || words::is_hungarian(name) || words::has_any(name, &["argc", "count", "num"]);
        kind.is_integer() && is_named && !counts_another
    }

    /// A text or bytes, to which the function sets a pointer.
    fn text_out(&mut self, index: usize, inner: &Type, what: &str) -> Result<(), String> {
        let name = self.names[index].clone();
        let what = what.trim_start_matches("takes ");
        let is_text = inner.is_text();
        let length = self.length_behind(index);
        let returns_integer = self.signature.returns.is_integer();
        let scalar = if is_text { CTypeName::Char } else { CTypeName::UnsignedChar };
        let mut draft =
            ParameterDraft::new(&name, SchemaType::String, CType::pointer(scalar)).out().key("x-indirect", true);
        if let Some(length) = length {
            draft = draft.key("x-lengthParam", self.names[length].clone());
            draft = draft.review(format!("`{}` is taken as its length", self.names[length]));
        } else if !is_text && returns_integer && !inner.is_void() {
            draft = draft
                .key("x-lengthParam", self.result.clone())
                .review("the result of the function is taken as its length");
        } else if !is_text {
            return Err(format!("takes {what}, an address without a length"));
        }
        draft = if is_text { draft } else { draft.base64() };
        let mut freeing = self.freeing.iter().filter(|function| self.evidence.names(function));
        draft = match (inner.is_const, freeing.next()) {
            (true, _) => draft,
            (false, Some(free)) => draft.key("x-free", free.clone()),
            (false, None) => draft.review(self.who_frees("it")),
        };
        let is_said = self.said(index).and_then(|said| said.direction).is_some_and(|(_, out)| out);
        draft = draft.review_if(!is_said, || {
            format!("{what} is taken as a pointer that the function sets: remove the function where it is read")
        });
        self.push(index, draft);
        Ok(())
    }

    /// The parameter after one that holds how long is what the function made.
    fn length_behind(&self, index: usize) -> Option<usize> {
        let (name, kind) = self.signature.parameters.get(index + 1)?;
        let target = kind.pointee().filter(|target| target.is_integer() && !target.is_const && !target.is_bytes())?;
        let counts = words::counts(name.as_deref().unwrap_or_default()) || target.is_named(&["size_t", "ssize_t"]);
        (counts && target.enumeration().is_none()).then_some(index + 1)
    }

    /// What can only be NULL.
    fn nothing(&mut self, index: usize, what: &str) {
        let draft = ParameterDraft::address(&self.names[index]).optional().key("x-handle", "NULL").note("Always NULL.");
        let what = what.trim_start_matches("takes ");
        self.push(
            index,
            draft.review(format!("{what} is always passed as NULL: remove the function if it may not be")),
        );
    }
}
