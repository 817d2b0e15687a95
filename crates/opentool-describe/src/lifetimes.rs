//! What ends handles, what they belong to, and what must outlive a call.

use opentool_spec::{CTypeName, DynParameter, SchemaType};
use serde_json::Value;

use crate::closing;
use crate::draft::FunctionDraft;
use crate::evidence::Success;
use crate::records::RecordRole;
use crate::words;

/// What functions have in their names that keep what they are given.
const KEEPING: [&str; 6] = ["input", "reference", "byref", "source", "dict", "dictionary"];

impl FunctionDraft<'_, '_> {
    /// What the name of the function and the shape of its parameters suggest about handles.
    pub(crate) fn guess_lifetimes(&mut self) {
        let closes = self.close();
        let function = &mut self.made.function;
        let hands_out =
            function.parameters.iter().any(|parameter| !parameter.is_in && parameter.extra.contains_key("x-handle"));
        let returns_int = matches!(self.signature.returns.scalar(), Some(CTypeName::Int))
            && self.signature.returns.enumeration().is_none();
        let is_boolean = self.signature.returns.has_name(|name| name.to_lowercase().contains("bool"));
        let success = self.evidence.success(|name| self.macros.number(name));
        // What says yes or no says yes where it succeeds: `gboolean`.
        let success = success.or_else(|| is_boolean.then_some(Success::NotZero));
        if returns_int && (closes || hands_out) {
            match success {
                Some(Success::Zero) => {
                    function.extra.insert("x-returnsCode".to_owned(), true.into());
                }
                Some(Success::One) => {
                    function.extra.insert("x-returnsCode".to_owned(), vec![1].into());
                }
                Some(Success::NotZero) => {}
                // A handle that was taken for open after its end would be used again: it ends whatever is returned.
                None if closes => {}
                None => {
                    function.extra.insert("x-returnsCode".to_owned(), true.into());
                    let reason = "the function is taken to return 0 for success, and anything else for an error";
                    self.of_function.push(reason.to_owned());
                }
            }
        }
        if !closes {
            self.belong();
        }
        self.keep();
    }

    /// Says why the function cannot be described where it takes the address of a handle and does not clearly end that.
    pub(crate) fn check_addresses(&self) -> Result<(), String> {
        let is_left = |parameter: &&DynParameter| {
            parameter.is_in && parameter.extra.contains_key("x-indirect") && !parameter.extra.contains_key("x-closes")
        };
        let Some(left) = self.made.function.parameters.iter().find(is_left) else { return Ok(()) };
        let index = self.names.iter().position(|name| *name == left.name);
        let what = index.map_or(String::new(), |index| self.signature.parameters[index].1.declare(&left.name));
        Err(format!("takes `{what}`, the address of a handle, which it may end"))
    }

    /// Finds the handle that ends with the function.
    fn close(&mut self) -> bool {
        let kind_of =
            |parameter: &DynParameter| parameter.extra.get("x-handle").and_then(Value::as_str).map(str::to_owned);
        let parameters = &self.made.function.parameters;
        let makes = parameters.iter().any(|parameter| !parameter.is_in && parameter.extra.contains_key("x-handle"));
        let is_handle =
            |parameter: &&DynParameter| parameter.is_in && kind_of(parameter).is_some_and(|kind| kind != "NULL");
        let handles: Vec<&DynParameter> = parameters.iter().filter(is_handle).collect();
        // What besides the handle takes or gives texts and buffers does something else with it.
        let is_plain = |parameter: &DynParameter| {
            kind_of(parameter).is_some()
                || (parameter.schema.schema_type != Some(SchemaType::String) && parameter.schema.reference.is_none())
        };
        let has_only_plain =
            parameters.iter().all(|parameter| is_plain(parameter) && !parameter.extra.contains_key("x-field"));
        let needed: Vec<&&DynParameter> = handles.iter().filter(|parameter| parameter.required).collect();
        let candidates: Vec<&DynParameter> = match (handles.as_slice(), needed.as_slice()) {
            ([only], _) => vec![only],
            (_, [only]) => vec![only],
            (several, _) => {
                // `session_free(session, request)` ends what it is named after.
                let named = |parameter: &&&DynParameter| {
                    let kind = kind_of(parameter).unwrap_or_default();
                    let own = words::split(self.name);
                    words::split(&kind).iter().filter(|word| word.len() > 1).all(|word| own.contains(word))
                };
                let named: Vec<&DynParameter> = several.iter().filter(named).copied().collect();
                if named.len() == 1 { named } else { Vec::new() }
            }
        };
        let [only] = candidates.as_slice() else { return false };
        let kind = kind_of(only).unwrap_or_default();
        let is_allocated = self.is_allocated(&kind);
        // `free_opt(settings *opt)` ends what it calls so; `freeStream(Stream *)` ends a `Context`, where that is the same.
        let index = self.names.iter().position(|name| *name == only.name);
        let declared = index.map(|index| self.signature.parameters[index].1.declare("")).unwrap_or_default();
        let ends = [&kind, &only.name, &declared].iter().any(|named| closing::ends(self.name, named))
            || ((is_allocated || only.extra.contains_key("x-indirect"))
                && closing::clears(self.name)
                && handles.len() == 1);
        let name = only.name.clone();
        if makes || !has_only_plain {
            return false;
        }
        if !ends {
            if closing::frees(self.name) {
                let reason =
                    "by its name, the function frees something: say `\"x-closes\": true` where the handle ends";
                self.made.mark(&name, reason);
            }
            return false;
        }
        // A destructor that is given nothing has nothing to do.
        if let Some(parameter) = self.made.function.parameters.iter_mut().find(|parameter| parameter.name == name) {
            parameter.extra.insert("x-closes".to_owned(), true.into());
            parameter.required = true;
        }
        self.made.mark(&name, "by the name of the function, the handle ends with it");
        true
    }

    fn is_allocated(&self, kind: &str) -> bool {
        self.signature.parameters.iter().any(|(_, of)| {
            let key = self.records.behind(of);
            key.is_some_and(|key| {
                self.records.name(&key) == kind && self.records.role(&key) == Some(RecordRole::Allocated)
            })
        })
    }

    /// Ties what the function gets out of a handle to that one.
    fn belong(&mut self) {
        if words::makes(self.name) {
            return;
        }
        let parent = self.made.function.parameters.iter().find(|parameter| {
            parameter.is_in && parameter.required && parameter.extra.get("x-handle").is_some_and(|kind| kind != "NULL")
        });
        let Some(parent) = parent.map(|parent| parent.name.clone()) else { return };
        for parameter in &mut self.made.function.parameters {
            if !parameter.is_in && parameter.extra.contains_key("x-handle") {
                parameter.extra.insert("x-parent".to_owned(), parent.clone().into());
            }
        }
        if let Some(returns) = &mut self.made.function.returns
            && returns.extra.contains_key("x-handle")
        {
            returns.extra.insert("x-parent".to_owned(), parent.into());
        }
    }

    /// Lets what goes in live as long as the handle that keeps it.
    fn keep(&mut self) {
        let named =
            words::has_any(self.name, &["set", "load", "use", "attach", "by"]) && words::has_any(self.name, &KEEPING);
        if !named && !self.keeps_inputs && !self.evidence.must_outlive() {
            return;
        }
        let function = &mut self.made.function;
        let of_parameter = |parameter: &&DynParameter| {
            let kind = parameter.extra.get("x-handle").and_then(Value::as_str);
            kind.is_some_and(|kind| kind != "NULL") && !parameter.extra.contains_key("x-closes")
        };
        let made = function
            .returns
            .as_ref()
            .filter(|returns| returns.extra.contains_key("x-handle"))
            .map(|returns| returns.name.clone());
        let Some(holder) =
            made.or_else(|| function.parameters.iter().find(of_parameter).map(|parameter| parameter.name.clone()))
        else {
            return;
        };
        for parameter in &mut function.parameters {
            let is_data = matches!(parameter.schema.schema_type, Some(SchemaType::String | SchemaType::Array));
            let is_plain = !["x-handle", "x-callback", "x-userData", "x-field"]
                .iter()
                .any(|key| parameter.extra.contains_key(*key));
            if parameter.is_in && is_data && is_plain {
                parameter.extra.insert("x-keep".to_owned(), holder.clone().into());
            }
        }
    }
}
