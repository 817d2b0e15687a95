//! Callbacks that collect what they are called with.

use opentool_spec::{CType, CTypeName, SchemaType};
use serde_json::{Value, json};

use crate::ctype::{Signature, Type, TypeKind};
use crate::draft::FunctionDraft;
use crate::evidence::MayBeNull;
use crate::parameter_draft::ParameterDraft;
use crate::words;

/// How many calls of a callback are collected.
const MOST: u64 = 1000;
/// What functions have in their names that keep a callback for later.
const REGISTERING: [&str; 31] = [
    "cb",
    "set",
    "register",
    "add",
    "install",
    "on",
    "hook",
    "handler",
    "trace",
    "notify",
    "subscribe",
    "create",
    "new",
    "init",
    "open",
    "enable",
    "schedule",
    "timer",
    "assign",
    "connect",
    "bind",
    "listen",
    "watch",
    "attach",
    "define",
    "override",
    "setup",
    "use",
    "configure",
    "async",
    "collation",
];
/// What lists of texts are called that end with a NULL.
const ATTRIBUTES: [&str; 4] = ["atts", "attrs", "attributes", "argv"];
/// What the address is called that callbacks are given.
const USER_DATA: [&str; 10] =
    ["arg", "args", "opaque", "userdata", "user", "closure", "baton", "clientp", "cookie", "userp"];
/// What allocators are called.
const ALLOCATING: [&str; 9] =
    ["alloc", "free", "malloc", "realloc", "calloc", "allocator", "dealloc", "memory", "allocate"];

impl FunctionDraft<'_, '_> {
    /// Finds the addresses that callbacks are given, and callbacks that are passed as NULL.
    pub(crate) fn find_callbacks(&mut self) {
        let callbacks: Vec<usize> =
            (0..self.signature.parameters.len()).filter(|index| self.called_back(*index).is_some()).collect();
        if callbacks.is_empty() {
            return;
        }
        let addresses: Vec<usize> = (0..self.signature.parameters.len())
            .filter(|index| {
                let target = self.signature.parameters[*index].1.pointee();
                target.is_some_and(|target| target.is_void() && self.records.object(&target).is_none())
                    && self.roles.buffers[*index].as_ref().is_none_or(|role| match role.size {
                        None => true,
                        // A length that does not stand beside the pointer is none of what is passed on to callbacks.
                        Some(size) => !size.is_sure && words::has_any(self.own_name(*index), &USER_DATA),
                    })
            })
            .collect();
        // What frees a buffer of the caller's has nothing to do where the buffer is kept for it.
        let destructors: Vec<usize> = callbacks.iter().copied().filter(|index| self.is_destructor(*index)).collect();
        if !destructors.is_empty() && destructors.len() == callbacks.len() {
            self.nothing = destructors;
            self.keeps_inputs = true;
        } else if callbacks.iter().all(|index| self.may_be_nothing(*index)) {
            self.nothing.extend(callbacks.iter().chain(&addresses));
        } else if callbacks
            .iter()
            .all(|index| self.called_back(*index).is_some_and(|signature| has_user_data(&signature)))
        {
            for address in &addresses {
                self.roles.buffers[*address] = None;
            }
            self.user_data = addresses;
        }
    }

    /// Whether a callback frees what the function was given before it: `(object, text, length, void (*)(void *))`.
    fn is_destructor(&self, index: usize) -> bool {
        let Some(signature) = self.called_back(index) else { return false };
        let is_address = |kind: &Type| kind.pointee().is_some_and(|target| target.is_void() || target.is_bytes());
        let frees = matches!(signature.parameters.as_slice(), [(_, only)] if is_address(only));
        let has_object =
            self.signature.parameters.first().is_some_and(|(_, first)| self.records.behind(first).is_some());
        let has_input = (0..index).any(|before| self.roles.buffers[before].as_ref().is_some_and(|role| role.goes_in));
        frees && signature.returns.is_void() && has_object && has_input
    }

    /// What is called back, where a parameter is a function.
    fn called_back(&self, index: usize) -> Option<Signature> {
        match self.signature.parameters[index].1.resolved().kind {
            TypeKind::Function(signature) => Some((*signature).clone()),
            TypeKind::Pointer(target) => match target.resolved().kind {
                TypeKind::Function(signature) => Some((*signature).clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a callback may be NULL: by the comment, or since it allocates memory, for which libraries have a default.
    fn may_be_nothing(&self, index: usize) -> bool {
        match self.evidence.null(self.own_name(index)) {
            Some(MayBeNull::Yes) => return true,
            Some(MayBeNull::No) => return false,
            None => {}
        }
        let Some(signature) = self.called_back(index) else { return false };
        let takes_size = signature.parameters.iter().any(|(_, kind)| kind.is_named(&["size_t"]));
        let allocates = signature.returns.pointee().is_some_and(|target| target.is_void()) && takes_size;
        let only_addresses =
            signature.parameters.iter().all(|(_, kind)| kind.pointee().is_some_and(|target| target.is_void()));
        let frees = signature.returns.is_void() && only_addresses && !signature.parameters.is_empty();
        allocates || words::has_any(self.own_name(index), &ALLOCATING) || (frees && self.called_before(index))
    }

    /// Whether the callback before one allocates memory, so that this one frees it.
    fn called_before(&self, index: usize) -> bool {
        index.checked_sub(1).is_some_and(|before| self.called_back(before).is_some() && self.may_be_nothing(before))
    }

    /// Whether an object that goes in can keep a callback: not one that the function is only about to prepare.
    fn holds_callbacks(&self, kind: &Type) -> bool {
        self.records.behind(kind).is_some_and(|key| !self.records.is_maker(self.name, &key))
    }

    /// A callback, whose arguments become an array in the result, of this call or of those that follow.
    pub(crate) fn callback(&mut self, index: usize, what: &str) -> Result<(), String> {
        let refused = || Err(format!("{what}, a callback"));
        let Some(signature) = self.called_back(index).filter(|signature| !signature.is_variadic) else {
            return refused();
        };
        let Some((described, is_whole)) = collected(&signature) else { return refused() };
        let holder = match (words::has_any(self.name, &REGISTERING), self.signature.parameters.first()) {
            (false, _) => None,
            // What registers a callback keeps it with its object.
            (true, Some((_, first))) if index > 0 && self.holds_callbacks(first) => Some(self.names[0].clone()),
            (true, _) => return refused(),
        };
        let draft = ParameterDraft::new(&self.names[index], SchemaType::Array, CType::pointer(CTypeName::Void));
        let draft = draft.out().key("x-callback", described);
        let draft = match holder {
            Some(holder) => draft
                .key("x-keep", holder.clone())
                .note("What it is called back with is given by the calls that follow.")
                .review(format!(
                    "it is taken to be called back until `{holder}` ends, and to go on where the answer is 0"
                )),
            None => draft
                .note("What the function calls back with, in the order of the calls.")
                .review("it is taken to be called back during the call only, and to go on where the answer is 0"),
        };
        let draft = draft.review_if(!is_whole, || "some of what it is called back with is left out".to_owned());
        self.push(index, draft);
        Ok(())
    }
}

/// Whether a callback is given an address of the caller's.
fn has_user_data(signature: &Signature) -> bool {
    user_data(signature).is_some()
}

/// The parameter of a callback that is an address of the caller's: the only `void *`, at one of its ends.
fn user_data(signature: &Signature) -> Option<usize> {
    let is_address = |index: usize| {
        let target = signature.parameters[index].1.pointee();
        target.is_some_and(|target| target.is_void() && !target.is_const)
    };
    let last = signature.parameters.len().checked_sub(1)?;
    [last, 0].into_iter().find(|index| is_address(*index))
}

/// The value of `x-callback`, and whether it has all that the callback is given.
fn collected(signature: &Signature) -> Option<(Value, bool)> {
    let user_data = user_data(signature);
    let names: Vec<String> = signature
        .parameters
        .iter()
        .enumerate()
        .map(|(index, (name, _))| {
            name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("arg{}", index + 1))
        })
        .collect();
    let mut parameters = Vec::new();
    let mut is_whole = true;
    for (index, (_, kind)) in signature.parameters.iter().enumerate() {
        let of_caller = user_data == Some(index);
        let mut described = match argument(signature, index, kind, &names).filter(|_| !of_caller) {
            Some(described) => described,
            None if kind.pointee().is_some() => {
                is_whole &= of_caller;
                json!({ "cType": c_type("void", true) })
            }
            None => return None,
        };
        described["name"] = names[index].clone().into();
        parameters.push(described);
    }
    let mut callback = json!({ "parameters": parameters, "max": MOST });
    if let Some(index) = user_data {
        callback["userData"] = index.into();
    }
    if !signature.returns.is_void() {
        callback["returns"] = match signature.returns.scalar() {
            Some(CTypeName::Int) => 0.into(),
            // What answers by yes and no goes on where the answer is yes.
            Some(CTypeName::Bool) => json!({ "cType": c_type("bool", false), "value": true }),
            Some(scalar) if !matches!(scalar, CTypeName::Float | CTypeName::Double) => {
                json!({ "cType": c_type(scalar.as_str(), false), "value": 0 })
            }
            _ => return None,
        };
    }
    Some((callback, is_whole))
}

fn c_type(name: &str, is_pointer: bool) -> Value {
    json!({ "type": name, "isPointer": is_pointer })
}

/// What a callback is given at one place.
fn argument(signature: &Signature, index: usize, kind: &Type, names: &[String]) -> Option<Value> {
    if let Some(scalar) = kind.scalar() {
        return Some(json!({ "cType": c_type(scalar.as_str(), false) }));
    }
    let target = kind.pointee()?;
    let is_counter = |at: &usize| {
        let (name, kind) = &signature.parameters[*at];
        let named = name.as_deref().is_none_or(|name| words::counts(name) || matches!(name, "n" | "argc"));
        kind.is_integer() && kind.enumeration().is_none() && (named || kind.is_named(&["size_t"]))
    };
    if let Some(inner) = target.pointee() {
        // `int count, char **values, char **names`; attributes end with a NULL.
        let ends_itself = signature.parameters[index].0.as_deref().is_some_and(|name| ATTRIBUTES.contains(&name));
        let described = match (0..index).rev().find(is_counter) {
            Some(counter) => {
                json!({ "cType": c_type("char", true), "texts": true, "lengthParam": names[counter] })
            }
            None if ends_itself => json!({ "cType": c_type("char", true), "texts": true }),
            None => return None,
        };
        return inner.is_text().then_some(described);
    }
    let counter = Some(index + 1).filter(|after| *after < signature.parameters.len()).filter(is_counter);
    if target.is_text() {
        return Some(match counter {
            Some(counter) => json!({ "cType": c_type("char", true), "lengthParam": names[counter] }),
            None => json!({ "cType": c_type("char", true) }),
        });
    }
    if target.is_bytes() {
        let counter = counter?;
        return Some(
            json!({ "cType": c_type("unsigned char", true), "lengthParam": names[counter], "x-encoding": "base64" }),
        );
    }
    target.scalar().map(|scalar| json!({ "cType": c_type(scalar.as_str(), true) }))
}
