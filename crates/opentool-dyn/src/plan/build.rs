//! From a document to a plan.

use opentool_spec::{CallingConvention, DynFunction, DynReturn, OpenDyn, Reading, Severity};

use super::buffer::Length;
use super::document_faults::DocumentFaults;
use super::extension::{Effect, Extensions, key_of};
use super::fault::PlanFault;
use super::parameters::{ParameterBuilder, PlannedParameter, by_value};
use super::returned;
use super::scalar::Machine;
use super::schemas::{PlainType, Schemas, Shape, Type};
use super::struct_field::AccessContent;
use super::types::{
    FEW, Function, Global, HandleSource, Parameter, ParentHandle, Passing, Plan, Pointed, RetainedArgument, Return,
    Returned,
};
use crate::OpenError;

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
    let schemas = Schemas::new(&document, &faults);
    let functions: Vec<Function> = document
        .functions
        .iter()
        .enumerate()
        .map(|(index, function)| make(&schemas, faults.of_functions.get(&index), function))
        .collect();
    drop(schemas);
    let codes = document.code.iter().flatten();
    let codes = codes.filter_map(|(code, meaning)| Some((code.trim().parse().ok()?, meaning.clone()))).collect();
    let stdcall = document.info.calling_convention == CallingConvention::Stdcall;
    let has_handles = functions.iter().any(Function::returns_handles);
    Ok(Plan { functions, thread_safe, has_handles, stdcall, init, codes, document, report })
}

fn make<'a>(schemas: &Schemas<'a>, faults: Option<&Vec<String>>, function: &'a DynFunction) -> Function {
    let mut made = Function {
        name: function.name.clone(),
        symbol: function.name.clone(),
        disabled: faults.map(|reasons| reasons.join("; ")),
        fault: None,
        parameters: Box::default(),
        arguments: None,
        retained: Box::default(),
        has_fields: false,
        closes_handles: false,
        has_buffers: false,
        has_counts: false,
        names: None,
        returns: None,
        fixed: None,
        success: None,
        helpers: Box::default(),
        free: None,
        global: None,
        errno: false,
        effect: Effect::Unknown,
        idempotent: false,
    };
    if made.disabled.is_none()
        && let Err(fault) = fill(schemas, function, &mut made)
    {
        made.parameters = Box::default();
        made.disabled = Some(fault.reason.clone());
        made.fault = Some(fault);
    }
    made
}

fn fill<'a>(schemas: &Schemas<'a>, function: &'a DynFunction, made: &mut Function) -> Result<(), PlanFault> {
    let keys = Extensions::new(&function.extra);
    if let Some(symbol) = keys.name("x-symbol")? {
        symbol.clone_into(&mut made.symbol);
    }
    made.effect = keys.effect()?;
    made.idempotent = keys.flag("x-idempotent")?;
    made.errno = keys.flag("x-errno")?;
    if function.parameters.len() > MOST_PARAMETERS {
        let count = function.parameters.len();
        return Err(format!("it has {count} parameters: {MOST_PARAMETERS} are the most").into());
    }
    made.fixed = keys.fixed_arguments(function.parameters.len())?;

    let mut builder = ParameterBuilder { schemas, function, helpers: Vec::new() };
    let (mut parameters, mut retained) = (Vec::with_capacity(function.parameters.len()), Vec::new());
    for (index, parameter) in function.parameters.iter().enumerate() {
        let at = |reason: String| PlanFault::of_parameter(index, &parameter.name, reason);
        if parameter.name == "..." {
            let reason = "the function is variadic: say by `x-fixedArgs` how many parameters are fixed".to_owned();
            return Err(PlanFault { place: format!("/parameters/{index}"), reason });
        }
        let PlannedParameter { parameter: planned, retained: own } = builder.parameter(index, parameter).map_err(at)?;
        if planned.passing.is_out() && function.returns.as_ref().is_some_and(|returns| returns.name == parameter.name) {
            return Err(at("it is named as the return value, and both are part of the result".into()));
        }
        parameters.push(planned);
        retained.extend(own);
    }
    join_counters(&mut parameters)?;
    if let Some(fixed) = made.fixed {
        for (index, parameter) in parameters.iter().enumerate().skip(fixed) {
            promoted(&parameter.passing).map_err(|error| PlanFault::of_parameter(index, &parameter.name, error))?;
        }
    }
    if let Some(returns) = &function.returns {
        let at = |reason: String| PlanFault::of_return(&returns.name, reason);
        made.global = global(schemas, function, returns).map_err(at)?;
        made.returns = returned_value(&mut builder, returns, made.global).map_err(at)?;
    } else if keys.flag("x-global")? {
        return Err("`x-global` needs a return value, which says what the variable is".to_owned().into());
    }
    check_lengths(&parameters, made.returns.as_ref())?;
    check_places(&parameters, &retained, made.returns.as_ref())?;
    made.success = keys.success()?;
    let returned = made.returns.as_ref().map(|returns| &returns.kind);
    let returns_integer = matches!(returned, Some(Returned::Value(value)) if value.scalar.is_integer());
    if made.success.is_some() && !returns_integer {
        return Err("`x-returnsCode` needs an integer as the return value".to_owned().into());
    }
    let of_return = function.returns.as_ref().map(|returns| Extensions::new(&returns.extra));
    let free = match of_return.map(|keys| keys.name("x-free")).transpose()?.flatten() {
        Some(free) => Some(free),
        None => keys.name("x-free")?,
    };
    if free.is_some() && (!matches!(returned, Some(Returned::Pointer(_))) || made.global.is_some()) {
        return Err("`x-free` needs a pointer to a value as the return value".to_owned().into());
    }
    made.free = free.map(|symbol| builder.helper("x-free", symbol));
    if made.errno {
        let named = |parameter: &Parameter| parameter.passing.is_out() && &*parameter.name == ERRNO;
        if parameters.iter().any(named) || made.returns.as_ref().is_some_and(|returns| &*returns.name == ERRNO) {
            return Err(format!("`x-errno` reports under the name `{ERRNO}`, which another result has").into());
        }
    }
    made.helpers = builder.helpers.into();
    made.retained = retained.into();
    finish(made, parameters)
}

/// Notes what a call must look at.
fn finish(made: &mut Function, parameters: Vec<Parameter>) -> Result<(), PlanFault> {
    if parameters.len() > FEW {
        let names = parameters.iter().enumerate().map(|(index, parameter)| (parameter.name.clone(), index));
        made.names = Some(names.collect());
    }
    let passings = || parameters.iter().map(|parameter| &parameter.passing);
    made.has_buffers = passings().any(|passing| passing.buffer().is_some());
    made.has_counts = passings()
        .any(|passing| matches!(passing, Passing::Text { count: Some(_), .. } | Passing::Array { count: Some(_), .. }));
    made.has_fields = passings().any(|passing| matches!(passing, Passing::Field(_)));
    made.closes_handles = passings().any(|passing| matches!(passing, Passing::Handle { closes: true, .. }));
    if passings().any(|passing| !passing.is_argument() || matches!(passing, Passing::StructValue { .. })) {
        let arguments = passings().enumerate().filter(|(_, passing)| passing.is_argument());
        made.arguments = Some(arguments.map(|(index, _)| index).collect());
        if made.fixed.is_some() {
            let reason = "`x-fixedArgs` does not go with fields, events and structs by value".to_owned();
            return Err(reason.into());
        }
    }
    made.parameters = parameters.into();
    Ok(())
}

/// Where the value of a global is.
fn global<'a>(
    schemas: &Schemas<'a>,
    function: &'a DynFunction,
    returns: &'a DynReturn,
) -> Result<Option<Global>, String> {
    if !Extensions::new(&function.extra).flag("x-global")? {
        return Ok(None);
    }
    if !function.parameters.is_empty() {
        return Err("`x-global` reads a variable: it has no parameters".to_owned());
    }
    let Type { shape, extra } = schemas.type_of(&returns.schema)?;
    let keys = Extensions::with_schema(&returns.extra, extra);
    let in_place = match shape {
        Shape::Struct(_) | Shape::Structs(_) => true,
        Shape::Plain(PlainType { is_pointer, .. }) => is_pointer && keys.get("x-size").is_some(),
    };
    Ok(Some(if in_place { Global::InPlace } else { Global::Variable }))
}

fn returned_value<'a>(
    builder: &mut ParameterBuilder<'_, 'a>,
    returns: &'a DynReturn,
    global: Option<Global>,
) -> Result<Option<Return>, String> {
    let Type { shape, extra } = builder.schemas.type_of(&returns.schema)?;
    let keys = Extensions::with_schema(&returns.extra, extra);
    if keys.get("x-parent").is_some() && keys.get("x-handle").is_none() {
        return Err("`x-parent` needs a handle".to_owned());
    }
    if keys.get("x-close").is_some() && keys.get("x-parent").is_none() {
        return Err("`x-close` needs `x-parent`".to_owned());
    }
    let kind = match keys.name("x-handle")? {
        Some(kind) => {
            let Shape::Plain(PlainType { is_pointer: true, .. }) = shape else {
                return Err("`x-handle` needs a pointer".to_owned());
            };
            Some(Returned::Handle { kind: kind.into(), parent: builder.parent(keys)? })
        }
        None if global.is_some() && keys.flag("x-byValue")? => {
            return Err("`x-byValue` is for functions, not for variables".to_owned());
        }
        None => returned::returned(builder.function, &shape, keys, by_value)?,
    };
    let value = match &kind {
        Some(Returned::Value(value)) => Some(*value),
        _ => None,
    };
    keys.names(value)?;
    let Some(mut kind) = kind else {
        return match global {
            Some(_) => Err("a variable cannot be `void`".to_owned()),
            None => Ok(None),
        };
    };
    if global == Some(Global::InPlace)
        && let Returned::Pointer(pointed) = &mut kind
    {
        in_place(pointed, keys.count("x-size")?)?;
    }
    let key = key_of(&returns.name);
    let opening = [b"{", &*key].concat().into();
    Ok(Some(Return { name: returns.name.as_str().into(), key, opening, kind }))
}

/// A text in place ends with its array where no NUL ends it before.
fn in_place(pointed: &mut Pointed, size: Option<usize>) -> Result<(), String> {
    if let Pointed::Text { length, .. } = pointed {
        let size = size.ok_or("a text in place needs `x-size`")?;
        *length = Some(Length::Within(size));
    }
    Ok(())
}

/// Makes sure that what counts is an integer, and lets the caller leave it out where it follows from the rest.
fn join_counters(parameters: &mut [Parameter]) -> Result<(), PlanFault> {
    for index in 0..parameters.len() {
        let (key, counter) = match &parameters[index].passing {
            Passing::Text { count: Some(count), .. } | Passing::Array { count: Some(count), .. } => {
                ("x-lengthParam", *count)
            }
            passing => match passing.buffer().and_then(|(buffer, _)| buffer.size_parameter) {
                Some(counter) => ("x-sizeParam", counter),
                None => continue,
            },
        };
        let passing = &parameters[counter].passing;
        if passing.counter().is_none() {
            let (name, counter) = (&parameters[index].name, &parameters[counter].name);
            let reason = format!("`{key}` names `{counter}`, which is no integer");
            return Err(PlanFault::of_parameter(index, name, reason));
        }
        if key == "x-lengthParam" || matches!(passing, Passing::Cell { out: true, .. }) {
            parameters[counter].required = false;
        }
    }
    Ok(())
}

fn check_lengths(parameters: &[Parameter], returns: Option<&Return>) -> Result<(), PlanFault> {
    let of_pointed = |pointed: &Pointed| match pointed {
        Pointed::Text { length, .. } | Pointed::Array { length, .. } => *length,
        Pointed::Element(_) | Pointed::Struct(_) => None,
    };
    let of_parameters = parameters.iter().enumerate().filter_map(|(index, parameter)| {
        let length = match &parameter.passing {
            Passing::Indirect { pointed, .. } => of_pointed(pointed),
            passing => passing.buffer().and_then(|(buffer, _)| buffer.length),
        };
        Some((length?, format!("/parameters/{index}")))
    });
    let of_return = returns.and_then(|returns| match &returns.kind {
        Returned::Pointer(pointed) => Some((of_pointed(pointed)?, "/return".to_owned())),
        _ => None,
    });
    for (length, place) in of_parameters.chain(of_return) {
        let (name, counts) = match length {
            Length::Parameter(index) => (&*parameters[index].name, parameters[index].passing.counter().is_some()),
            Length::Return => {
                let kind = returns.map(|returns| &returns.kind);
                let counts = matches!(kind, Some(Returned::Value(value)) if value.scalar.is_integer());
                (returns.map_or("", |returns| &*returns.name), counts)
            }
            Length::Within(_) => continue,
        };
        if !counts {
            return Err(PlanFault { place, reason: format!("`x-lengthParam` names `{name}`, which is no integer") });
        }
    }
    Ok(())
}

/// Makes sure that what keys name is what they need: handles, structs, results.
fn check_places(
    parameters: &[Parameter],
    retained: &[RetainedArgument],
    returns: Option<&Return>,
) -> Result<(), PlanFault> {
    let takes_handle = |index: usize| matches!(parameters[index].passing, Passing::Handle { .. });
    let makes_handle =
        |index: usize| matches!(parameters[index].passing, Passing::HandleOut { .. } | Passing::Allocated { .. });
    let check_parent = |parent: &Option<ParentHandle>, fault: &dyn Fn(String) -> PlanFault| match parent {
        Some(ParentHandle { parameter, .. }) if !takes_handle(*parameter) => {
            Err(fault(format!("`x-parent` names `{}`, which is no handle that goes in", parameters[*parameter].name)))
        }
        _ => Ok(()),
    };
    for (index, parameter) in parameters.iter().enumerate() {
        let fault = |reason: String| PlanFault::of_parameter(index, &parameter.name, reason);
        match &parameter.passing {
            Passing::HandleOut { parent, .. } | Passing::Allocated { parent, .. } => check_parent(parent, &fault)?,
            Passing::Events { of } if !takes_handle(*of) => {
                let name = &parameters[*of].name;
                return Err(fault(format!("`x-events` names `{name}`, which is no handle that goes in")));
            }
            Passing::Field(field) => {
                let of = &parameters[field.of];
                match &of.passing {
                    Passing::Handle { .. } => {}
                    Passing::Allocated { size, .. } if field.end() <= *size => {}
                    Passing::Allocated { size, .. } => {
                        return Err(fault(format!("it lies beyond the {size} bytes of `{}`", of.name)));
                    }
                    _ => {
                        let reason = "which is neither a handle that goes in nor one with `x-allocate`";
                        return Err(fault(format!("`x-field` names `{}`, {reason}", of.name)));
                    }
                }
                let closes = matches!(of.passing, Passing::Handle { closes: true, .. });
                if closes
                    && matches!(
                        field.content,
                        AccessContent::Text { .. } | AccessContent::Scalar { goes_out: true, .. }
                    )
                {
                    return Err(fault(format!("the function ends `{}`, so that nothing is left to read", of.name)));
                }
                if let Some(condition) = &field.when {
                    let counts = match condition.parameter {
                        Some(index) => parameters[index].passing.reported_integer().is_some(),
                        None => {
                            let kind = returns.map(|returns| &returns.kind);
                            matches!(kind, Some(Returned::Value(value)) if value.scalar.is_integer())
                        }
                    };
                    if !counts {
                        return Err(fault("`x-when` must name an integer of the result".to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    for retained in retained {
        let is_handle = match retained.handle {
            HandleSource::Parameter(index) => takes_handle(index) || makes_handle(index),
            HandleSource::Return => returns.is_some_and(|returns| matches!(returns.kind, Returned::Handle { .. })),
        };
        let parameter = &parameters[retained.parameter];
        let is_late = matches!(parameter.passing, Passing::Callback(_))
            && !matches!(retained.handle, HandleSource::Parameter(index) if takes_handle(index));
        if !is_handle || is_late {
            let reason = "`x-keep` must name a handle of the function; for a callback, one that goes in";
            return Err(PlanFault::of_parameter(retained.parameter, &parameter.name, reason));
        }
    }
    if let Some(returns) = returns
        && let Returned::Handle { parent, .. } = &returns.kind
    {
        check_parent(parent, &|reason| PlanFault::of_return(&returns.name, reason))?;
    }
    Ok(())
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
