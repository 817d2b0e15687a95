//! From a document to a plan.

use opentool_spec::json::pointer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use opentool_spec::{
    CType, CTypeName, CallingConvention, Code, DynFunction, DynParameter, DynReturn, DynSchema, Finding, Map, OpenDyn,
    Reading, ReferenceError, SchemaType, Severity,
};

use super::extension::{Effect, Extensions, LARGEST_BUFFER};
use super::scalar::{Machine, Scalar, Value};
use super::types::{Buffer, FEW, Function, Length, Parameter, Passing, Plan, Return, Returned};
use crate::OpenError;
use crate::encoding::push_json_string;

/// How many bytes a text that goes out may have where the document does not say it.
const DEFAULT_BUFFER: usize = 4096;

/// The name under which `errno` is reported.
const ERRNO: &str = "errno";

/// More parameters than any C function has.
const MOST_PARAMETERS: usize = 1024;

impl Plan {
    /// Reads and checks a document.
    ///
    /// # Errors
    ///
    /// Where the document as a whole cannot be used; what is wrong with one function disables only that.
    pub(crate) fn parse(text: &str) -> Result<Plan, OpenError> {
        plan(text)
    }
}

fn plan(text: &str) -> Result<Plan, OpenError> {
    let Reading { document, report, .. } = OpenDyn::read(text);
    let faults = DocumentFaults::from_findings(&report.findings);
    let Some(document) = document.filter(|_| faults.of_document.is_empty()) else {
        let mut findings = faults.of_document;
        if findings.is_empty() {
            findings = report.findings.into_iter().filter(|finding| finding.severity == Severity::Error).collect();
        }
        return Err(OpenError::Document(findings));
    };
    let root = Extensions::with_schema(&document.extra, &document.info.extra);
    // The check of the document has refused wrong values already.
    let thread_safe = root.flag("x-threadSafe").unwrap_or_default();
    let init = root.name("x-init").ok().flatten().map(str::to_owned);
    let builder = PlanBuilder::new(&document, &faults);
    let functions: Vec<Function> =
        document.functions.iter().enumerate().map(|(index, function)| builder.function(index, function)).collect();
    let codes = document.code.iter().flatten();
    let codes = codes.filter_map(|(code, meaning)| Some((code.trim().parse().ok()?, meaning.clone()))).collect();
    let stdcall = document.info.calling_convention == CallingConvention::Stdcall;
    let has_handles = functions.iter().any(Function::returns_handles);
    Ok(Plan { functions, thread_safe, has_handles, stdcall, init, codes, document, report })
}

/// The errors of a document, by what they make unusable.
#[derive(Debug, Default)]
struct DocumentFaults {
    of_document: Vec<Finding>,
    of_functions: HashMap<usize, Vec<String>>,
    of_schemas: HashMap<String, String>,
}

impl DocumentFaults {
    fn from_findings(findings: &[Finding]) -> Self {
        let mut faults = DocumentFaults::default();
        for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
            let mut steps = finding.pointer.split('/').skip(1);
            let place = (steps.next().unwrap_or_default(), steps.next());
            match place {
                // It cannot be known which of two functions of one name is meant.
                _ if finding.code == Code::DuplicateFunction => faults.of_document.push(finding.clone()),
                ("functions", Some(index)) if index.parse::<usize>().is_ok() => {
                    let index = index.parse().unwrap_or_default();
                    faults.of_functions.entry(index).or_default().push(message(finding));
                }
                ("schemas", Some(name)) => {
                    let name = pointer::unescape(name).into_owned();
                    faults.of_schemas.entry(name).or_insert_with(|| message(finding));
                }
                _ => faults.of_document.push(finding.clone()),
            }
        }
        faults
    }
}

fn message(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{} ({help})", finding.message),
        None => finding.message.clone(),
    }
}

/// Makes functions of a document.
#[derive(Debug)]
struct PlanBuilder<'a> {
    document: &'a OpenDyn,
    faults: &'a DocumentFaults,
    /// The schemas that have errors, with their names and what is wrong.
    unusable: HashMap<*const DynSchema, (&'a str, &'a str)>,
    /// Where references end.
    ends: RefCell<HashMap<&'a str, Result<&'a DynSchema, ReferenceError>>>,
}

/// What C and the caller see of a value.
#[derive(Debug, Clone, Copy)]
struct Type<'a> {
    schema_type: Option<SchemaType>,
    name: CTypeName,
    is_pointer: bool,
    /// The unknown keys of the schema.
    extra: &'a Map,
}

impl<'a> PlanBuilder<'a> {
    fn new(document: &'a OpenDyn, faults: &'a DocumentFaults) -> Self {
        let schema = |name: &String| Some(std::ptr::from_ref(document.schemas.as_ref()?.get(name)?));
        let unusable = faults.of_schemas.iter();
        let unusable = unusable.filter_map(|(name, reason)| Some((schema(name)?, (name.as_str(), reason.as_str()))));
        PlanBuilder { document, faults, unusable: unusable.collect(), ends: RefCell::default() }
    }

    fn function(&self, index: usize, function: &'a DynFunction) -> Function {
        let mut made = Function {
            name: function.name.clone(),
            symbol: function.name.clone(),
            disabled: self.faults.of_functions.get(&index).map(|reasons| reasons.join("; ")),
            parameters: Box::default(),
            has_buffers: false,
            names: None,
            returns: None,
            fixed: None,
            success: None,
            free: None,
            errno: false,
            effect: Effect::Unknown,
        };
        if made.disabled.is_none()
            && let Err(reason) = self.fill(function, &mut made)
        {
            made.parameters = Box::default();
            made.disabled = Some(reason);
        }
        made
    }

    fn fill(&self, function: &'a DynFunction, made: &mut Function) -> Result<(), String> {
        let keys = Extensions::new(&function.extra);
        if let Some(symbol) = keys.name("x-symbol")? {
            symbol.clone_into(&mut made.symbol);
        }
        made.effect = keys.effect()?;
        made.errno = keys.flag("x-errno")?;
        if function.parameters.len() > MOST_PARAMETERS {
            return Err(format!("it has {} parameters: {MOST_PARAMETERS} are the most", function.parameters.len()));
        }
        made.fixed = keys.fixed_arguments(function.parameters.len())?;

        let at = |error: String, name: &str| format!("parameter `{name}`: {error}");
        let mut parameters = Vec::with_capacity(function.parameters.len());
        for parameter in &function.parameters {
            if parameter.name == "..." {
                return Err("the function is variadic: say by `x-fixedArgs` how many parameters are fixed".to_owned());
            }
            let made = self.parameter(function, parameter).map_err(|error| at(error, &parameter.name))?;
            if made.passing.is_out() && function.returns.as_ref().is_some_and(|returns| returns.name == parameter.name)
            {
                return Err(at("it is named as the return value, and both are part of the result".into(), &made.name));
            }
            parameters.push(made);
        }
        self.join_counters(&mut parameters)?;
        if let Some(fixed) = made.fixed {
            for parameter in &parameters[fixed..] {
                promoted(&parameter.passing).map_err(|error| at(error, &parameter.name))?;
            }
        }

        made.returns = match &function.returns {
            Some(returns) => self
                .returned(function, returns)
                .map_err(|error| format!("the return value `{}`: {error}", returns.name))?,
            None => None,
        };
        self.check_lengths(function, &parameters, made.returns.as_ref())?;
        made.success = keys.success()?;
        let returned = made.returns.as_ref().map(|returns| &returns.kind);
        let returns_integer = matches!(returned, Some(Returned::Value(value)) if value.scalar.is_integer());
        if made.success.is_some() && !returns_integer {
            return Err("`x-returnsCode` needs an integer as the return value".to_owned());
        }
        let of_return = function.returns.as_ref().map(|returns| Extensions::new(&returns.extra));
        made.free = match of_return.map(|keys| keys.name("x-free")).transpose()?.flatten() {
            Some(free) => Some(free.to_owned()),
            None => keys.name("x-free")?.map(str::to_owned),
        };
        let returns_pointer =
            matches!(returned, Some(Returned::Text { .. } | Returned::Element(_) | Returned::Array { .. }));
        if made.free.is_some() && !returns_pointer {
            return Err("`x-free` needs a pointer to a value as the return value".to_owned());
        }
        if made.errno {
            let named = |parameter: &Parameter| parameter.passing.is_out() && &*parameter.name == ERRNO;
            if parameters.iter().any(named) || made.returns.as_ref().is_some_and(|returns| &*returns.name == ERRNO) {
                return Err(format!("`x-errno` reports under the name `{ERRNO}`, which another result has"));
            }
        }
        if parameters.len() > FEW {
            let names = parameters.iter().enumerate().map(|(index, parameter)| (parameter.name.clone(), index));
            made.names = Some(names.collect());
        }
        let is_buffer =
            |parameter: &Parameter| matches!(parameter.passing, Passing::TextOut { .. } | Passing::ArrayOut { .. });
        made.has_buffers = parameters.iter().any(is_buffer);
        made.parameters = parameters.into();
        Ok(())
    }

    /// What a schema says, at the end of its references.
    fn type_of(&self, schema: &'a DynSchema) -> Result<Type<'a>, String> {
        let end = match &schema.reference {
            Some(reference) => {
                let mut ends = self.ends.borrow_mut();
                let end = ends.entry(reference).or_insert_with(|| self.document.resolve(reference));
                end.clone().map_err(|error| error.to_string())?
            }
            None => schema,
        };
        if let Some((name, reason)) = self.unusable.get(&std::ptr::from_ref(end)) {
            return Err(format!("the schema `{name}` cannot be used: {reason}"));
        }
        let (name, is_pointer) = match (&end.c_type, end.schema_type) {
            (Some(CType { name, is_pointer, .. }), _) => (*name, *is_pointer),
            (None, Some(SchemaType::Boolean)) => (CTypeName::Bool, false),
            (None, Some(SchemaType::Integer)) => (CTypeName::Int, false),
            (None, Some(SchemaType::Number)) => (CTypeName::Double, false),
            (None, Some(SchemaType::String)) => (CTypeName::Char, true),
            (None, Some(SchemaType::Array | SchemaType::Object)) => {
                return Err("an array or object has no C type of its own: say which with `cType`".to_owned());
            }
            (None, None) => return Err("the schema says neither `type` nor `cType`".to_owned()),
        };
        if end.schema_type == Some(SchemaType::Object) {
            return Err("an object cannot be passed to C: pass its fields, or a handle".to_owned());
        }
        Ok(Type { schema_type: end.schema_type, name, is_pointer, extra: &end.extra })
    }

    fn parameter(&self, function: &'a DynFunction, parameter: &'a DynParameter) -> Result<Parameter, String> {
        let seen = self.type_of(&parameter.schema)?;
        let keys = Extensions::with_schema(&parameter.extra, seen.extra);
        let out = !parameter.is_in;
        let closes = keys.flag("x-closes")?;
        let passing = if let Some(kind) = keys.name("x-handle")? {
            let kind: Arc<str> = kind.into();
            match (seen.is_pointer, out) {
                (false, _) => return Err("`x-handle` needs a pointer".to_owned()),
                (true, true) if closes => return Err("`x-closes` needs a handle that goes in".to_owned()),
                (true, true) => Passing::HandleOut { kind },
                (true, false) => Passing::Handle { kind, closes },
            }
        } else if closes {
            return Err("`x-closes` needs `x-handle`".to_owned());
        } else {
            self.value_passing(function, seen, keys, out)?
        };
        let required = parameter.required && !passing.is_out();
        Ok(Parameter { name: parameter.name.as_str().into(), key: key(&parameter.name), required, passing })
    }

    fn value_passing(
        &self,
        function: &DynFunction,
        seen: Type<'a>,
        keys: Extensions<'a>,
        out: bool,
    ) -> Result<Passing, String> {
        let scalar = match Scalar::from_c_type(seen.name) {
            Some(scalar) => scalar,
            None if seen.is_pointer => {
                return Err("`void *` is a raw address, which callers may not see: name its type by `x-handle`".into());
            }
            None => return Err("a parameter cannot be `void`".to_owned()),
        };
        let is_array = seen.schema_type == Some(SchemaType::Array);
        if !seen.is_pointer {
            return match (is_array, out) {
                (true, _) => Err("an array is passed as a pointer to its elements: say `\"isPointer\": true`".into()),
                (_, true) => Err("what goes out needs a pointer to write through: say `\"isPointer\": true`".into()),
                _ => Value::new(scalar, seen.schema_type).map(Passing::Value),
            };
        }
        let is_text = seen.schema_type == Some(SchemaType::String);
        if !is_array && !is_text {
            return Value::new(scalar, seen.schema_type).map(|value| Passing::Cell { value, out });
        }
        if is_text && !scalar.is_char() {
            return Err(format!("a string is passed as `char *`, not as `{} *`", scalar.name()));
        }
        let encoding = keys.encoding()?.unwrap_or_default();
        let element = Value::element(scalar);
        if out {
            let default = if is_text { Some(DEFAULT_BUFFER) } else { None };
            let buffer = buffer(function, keys, element.machine, default)?;
            return Ok(if is_text {
                Passing::TextOut { buffer, encoding }
            } else {
                Passing::ArrayOut { element, buffer }
            });
        }
        let count = keys.name("x-lengthParam")?.map(|name| position(function, "x-lengthParam", name)).transpose()?;
        Ok(if is_text { Passing::Text { encoding, count } } else { Passing::Array { element, count } })
    }

    /// Makes sure that what counts is an integer, and lets the caller leave it out where it follows from the rest.
    fn join_counters(&self, parameters: &mut [Parameter]) -> Result<(), String> {
        for index in 0..parameters.len() {
            let (key, counter) = match &parameters[index].passing {
                Passing::Text { count: Some(count), .. } | Passing::Array { count: Some(count), .. } => {
                    ("x-lengthParam", *count)
                }
                Passing::TextOut { buffer, .. } | Passing::ArrayOut { buffer, .. } => match buffer.size_parameter {
                    Some(counter) => ("x-sizeParam", counter),
                    None => continue,
                },
                _ => continue,
            };
            if parameters[counter].passing.counter().is_none() {
                let (name, counter) = (&parameters[index].name, &parameters[counter].name);
                return Err(format!("parameter `{name}`: `{key}` names `{counter}`, which is no integer"));
            }
            if key == "x-lengthParam" {
                parameters[counter].required = false;
            }
        }
        Ok(())
    }

    fn check_lengths(
        &self,
        function: &DynFunction,
        parameters: &[Parameter],
        returns: Option<&Return>,
    ) -> Result<(), String> {
        let of_parameters = parameters.iter().filter_map(|parameter| match &parameter.passing {
            Passing::TextOut { buffer, .. } | Passing::ArrayOut { buffer, .. } => buffer.length,
            _ => None,
        });
        let of_return = returns.and_then(|returns| match &returns.kind {
            Returned::Text { length, .. } | Returned::Array { length, .. } => *length,
            _ => None,
        });
        for length in of_parameters.chain(of_return) {
            let (name, counts) = match length {
                Length::Parameter(index) => (&*parameters[index].name, parameters[index].passing.counter().is_some()),
                Length::Return => {
                    let name = function.returns.as_ref().map_or("", |returns| returns.name.as_str());
                    let kind = returns.map(|returns| &returns.kind);
                    (name, matches!(kind, Some(Returned::Value(value)) if value.scalar.is_integer()))
                }
            };
            if !counts {
                return Err(format!("`x-lengthParam` names `{name}`, which is no integer"));
            }
        }
        Ok(())
    }

    fn returned(&self, function: &'a DynFunction, returns: &'a DynReturn) -> Result<Option<Return>, String> {
        let seen = self.type_of(&returns.schema)?;
        let keys = Extensions::with_schema(&returns.extra, seen.extra);
        let kind = if let Some(kind) = keys.name("x-handle")? {
            if !seen.is_pointer {
                return Err("`x-handle` needs a pointer".to_owned());
            }
            Returned::Handle { kind: kind.into() }
        } else {
            match (Scalar::from_c_type(seen.name), seen.is_pointer) {
                (None, false) => return Ok(None),
                (None, true) => {
                    return Err("`void *` is a raw address: name the type it stands for by `x-handle`".to_owned());
                }
                (Some(_), false) if seen.schema_type == Some(SchemaType::Array) => {
                    return Err("an array is returned as a pointer to its elements".to_owned());
                }
                (Some(scalar), false) => Returned::Value(Value::new(scalar, seen.schema_type)?),
                (Some(scalar), true) => self.returned_pointer(function, scalar, seen, keys)?,
            }
        };
        let key = key(&returns.name);
        let opening = [b"{", &*key].concat().into();
        Ok(Some(Return { name: returns.name.as_str().into(), key, opening, kind }))
    }

    fn returned_pointer(
        &self,
        function: &DynFunction,
        scalar: Scalar,
        seen: Type<'a>,
        keys: Extensions<'a>,
    ) -> Result<Returned, String> {
        let length = keys.name("x-lengthParam")?.map(|name| position(function, "x-lengthParam", name)).transpose()?;
        let length = length.map(Length::Parameter);
        match seen.schema_type {
            Some(SchemaType::String) if scalar.is_char() => {
                let encoding = keys.encoding()?.unwrap_or_default();
                if !encoding.is_text() && length.is_none() {
                    return Err("bytes that are no text need `x-lengthParam`".to_owned());
                }
                Ok(Returned::Text { encoding, length })
            }
            Some(SchemaType::String) => Err(format!("a string is returned as `char *`, not as `{} *`", scalar.name())),
            Some(SchemaType::Array) => {
                let element = Value::element(scalar);
                let size = size(keys, element.machine)?;
                if size.is_none() && length.is_none() {
                    return Err("how many elements there are must be said by `x-size` or `x-lengthParam`".to_owned());
                }
                let most = LARGEST_BUFFER / element.machine.size();
                Ok(Returned::Array { element, size: size.unwrap_or(most), length })
            }
            other => Value::new(scalar, other).map(Returned::Element),
        }
    }
}

/// What a variadic function gets after its fixed parameters: C widens it, which a document must say.
fn promoted(passing: &Passing) -> Result<(), String> {
    let Passing::Value(value) = passing else { return Ok(()) };
    match value.machine {
        Machine::F32 => Err("C passes a `float` after the fixed parameters as `double`".to_owned()),
        machine if machine.size() < size_of::<core::ffi::c_int>() => {
            Err(format!("C passes a `{}` after the fixed parameters as `int`", value.scalar.name()))
        }
        _ => Ok(()),
    }
}

fn buffer(
    function: &DynFunction,
    keys: Extensions<'_>,
    element: Machine,
    default: Option<usize>,
) -> Result<Buffer, String> {
    let size_parameter = keys.name("x-sizeParam")?.map(|name| position(function, "x-sizeParam", name)).transpose()?;
    let length = match keys.name("x-lengthParam")? {
        Some(name) if function.returns.as_ref().is_some_and(|returns| returns.name == name) => Some(Length::Return),
        Some(name) => Some(Length::Parameter(position(function, "x-lengthParam", name)?)),
        None => None,
    };
    let size = match size(keys, element)?.or(default) {
        Some(size) => size,
        None if size_parameter.is_some() => DEFAULT_BUFFER / element.size(),
        None => {
            return Err(
                "how many elements the buffer has must be said by `x-size`, `maxItems` or `x-sizeParam`".to_owned()
            );
        }
    };
    Ok(Buffer { size, size_parameter, length })
}

/// How many elements there are, by `x-size` or the schema's `maxItems`.
fn size(keys: Extensions<'_>, element: Machine) -> Result<Option<usize>, String> {
    let Some(size) = keys.count("x-size")?.map_or_else(|| keys.count("maxItems"), |size| Ok(Some(size)))? else {
        return Ok(None);
    };
    match size.checked_mul(element.size()) {
        Some(bytes) if bytes <= LARGEST_BUFFER => Ok(Some(size)),
        _ => Err(format!("{size} elements are more than the {LARGEST_BUFFER} bytes that a buffer may have")),
    }
}

fn position(function: &DynFunction, key: &str, name: &str) -> Result<usize, String> {
    let found = function.parameters.iter().position(|parameter| parameter.name == name);
    found.ok_or_else(|| format!("`{key}` names `{name}`, which is no parameter of the function"))
}

/// A name as the key of a JSON object: quoted, and with its colon.
fn key(name: &str) -> Box<[u8]> {
    let mut key = Vec::with_capacity(name.len() + 3);
    push_json_string(name, &mut key);
    key.push(b':');
    key.into()
}
