//! How the functions of a document are called: [`Plan`].

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use opentool_spec::{OpenDyn, Report};

use super::buffer::{Buffer, Length};
use super::callback::Callback;
use super::extension::{Effect, Success};
use super::fault::PlanFault;
use super::layout::{Element, StructLayout};
use super::names::Names;
use super::scalar::Value;
use super::struct_field::{AccessContent, FieldAccess};
use crate::encoding::Encoding;

/// How many calls of a thread-safe library run at the same time.
const THREADS: usize = 16;

/// How every function of a document is called.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The functions, in the order of the document; a request to a worker has their index.
    pub(crate) functions: Vec<Function>,
    /// Whether calls may run at the same time (`x-threadSafe`).
    pub(crate) thread_safe: bool,
    /// Whether some function returns handles.
    pub(crate) has_handles: bool,
    /// Whether the functions are called as `stdcall`.
    pub(crate) stdcall: bool,
    /// What runs once after loading (`x-init`): a function of the document, or a symbol.
    pub(crate) init: Option<String>,
    /// What the integers mean that functions return.
    pub(crate) codes: IndexMap<i128, String>,
    /// The document, with what was forgiven fixed.
    pub(crate) document: OpenDyn,
    /// What was found in the document.
    pub(crate) report: Report,
}

/// How one function is called.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name of the tool.
    pub(crate) name: String,
    /// The name of the symbol in the library.
    pub(crate) symbol: String,
    /// Why the function cannot be called, where it cannot.
    pub(crate) disabled: Option<String>,
    /// What keeps it from being planned, where its document passes for one by itself.
    pub(crate) fault: Option<PlanFault>,
    /// What it takes, in the order of the document; none where it is disabled.
    pub(crate) parameters: Box<[Parameter]>,
    /// Which of them C gets and in which order, where not every parameter is an argument or some are structs by value.
    pub(crate) arguments: Option<Box<[usize]>>,
    /// The arguments that must outlive the call, and for which handle.
    pub(crate) retained: Box<[RetainedArgument]>,
    /// Whether some parameter is a field of a struct.
    pub(crate) has_fields: bool,
    /// Whether some parameter ends a handle.
    pub(crate) closes_handles: bool,
    /// Whether some of them is a buffer, whose size is to be settled.
    pub(crate) has_buffers: bool,
    /// Whether the length of an argument is that of another.
    pub(crate) has_counts: bool,
    /// The parameters by name, where there are too many to compare one after another.
    pub(crate) names: Option<HashMap<Box<str>, usize>>,
    /// What it returns besides its out parameters.
    pub(crate) returns: Option<Return>,
    /// How many parameters come before the dots of a variadic function.
    pub(crate) fixed: Option<usize>,
    /// Which codes say success, where the returned integer is a code.
    pub(crate) success: Option<Success>,
    /// Other functions of the library that it needs.
    pub(crate) helpers: Box<[Helper]>,
    /// Which of them frees what is returned.
    pub(crate) free: Option<usize>,
    /// Where the value is that it reads, where it is no function but data of the library.
    pub(crate) global: Option<Global>,
    /// Whether `errno` is part of the result.
    pub(crate) errno: bool,
    /// What it does to the world.
    pub(crate) effect: Effect,
    /// Whether to call it twice does no more than to call it once (`x-idempotent`).
    pub(crate) idempotent: bool,
}

/// How one parameter is read and passed.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Box<str>,
    /// The name as the key of a JSON object: quoted, and with its colon.
    pub(crate) key: Box<[u8]>,
    /// Whether the caller must give it.
    pub(crate) required: bool,
    pub(crate) passing: Passing,
    /// The names of its values, where it has some.
    pub(crate) names: Option<Box<Names>>,
}

/// An argument whose memory must live as long as a handle (`x-keep`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetainedArgument {
    pub(crate) parameter: usize,
    pub(crate) handle: HandleSource,
}

/// Where a call has a handle from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleSource {
    /// A parameter.
    Parameter(usize),
    /// The return value.
    Return,
}

/// A function of the library that takes one pointer and ends what is there.
#[derive(Debug)]
pub(crate) struct Helper {
    /// The key that names it.
    pub(crate) key: &'static str,
    pub(crate) symbol: String,
}

/// Where the value of a global is (`x-global`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    /// In the variable.
    Variable,
    /// It is the variable's own memory that a pointer would point to.
    InPlace,
}

/// The handle that another one belongs to (`x-parent`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParentHandle {
    /// The parameter that it is.
    pub(crate) parameter: usize,
    /// Which helper ends the other one before it ends.
    pub(crate) close: Option<usize>,
}

/// How the value of a parameter crosses the boundary.
#[derive(Debug)]
pub(crate) enum Passing {
    /// A scalar by value.
    Value(Value),
    /// The address of a private cell with one scalar, which is part of the result where it goes out.
    Cell { value: Value, out: bool },
    /// The address of a private copy, which ends with a NUL.
    Text { encoding: Encoding, count: Option<usize> },
    /// The address of a buffer for text or bytes.
    TextOut { buffer: Buffer, encoding: Encoding },
    /// The address of private copies, one after another.
    Array { element: Element, count: Option<usize> },
    /// The address of a buffer for elements.
    ArrayOut { element: Element, buffer: Buffer },
    /// A pointer that the library returned before, or the address of a private cell with it.
    Handle { kind: Arc<str>, closes: bool, indirect: bool },
    /// The address of a private cell, in which the library puts a pointer.
    HandleOut { kind: Arc<str>, parent: Option<ParentHandle> },
    /// The address of memory that lives as long as the handle that it becomes.
    Allocated { kind: Arc<str>, size: usize, parent: Option<ParentHandle> },
    /// The address of a private cell, in which the library puts a pointer to values.
    Indirect { pointed: Pointed, free: Option<usize> },
    /// The address of a struct.
    Struct { layout: Arc<StructLayout>, goes_in: bool, goes_out: bool },
    /// A struct by value.
    StructValue { layout: Arc<StructLayout> },
    /// A function that records its calls.
    Callback(Arc<Callback>),
    /// A null pointer, for the user data of a callback.
    UserData,
    /// No argument, but a field of a struct.
    Field(Box<FieldAccess>),
    /// No argument, but what the callbacks of a handle have recorded.
    Events { of: usize },
}

/// What a pointer of the library points to.
#[derive(Debug)]
pub(crate) enum Pointed {
    /// One scalar.
    Element(Value),
    /// Text that ends with a NUL, or is counted.
    Text { encoding: Encoding, length: Option<Length> },
    /// Elements.
    Array { element: Element, size: usize, length: Option<Length> },
    /// One struct.
    Struct(Arc<StructLayout>),
}

/// What a function returns.
#[derive(Debug)]
pub(crate) struct Return {
    pub(crate) name: Box<str>,
    /// The name as the key of a JSON object: quoted, and with its colon.
    pub(crate) key: Box<[u8]>,
    /// The beginning of the result: a brace and the key.
    pub(crate) opening: Box<[u8]>,
    pub(crate) kind: Returned,
}

/// How the returned value crosses the boundary.
#[derive(Debug)]
pub(crate) enum Returned {
    /// A scalar.
    Value(Value),
    /// A pointer to values.
    Pointer(Pointed),
    /// A pointer that only the library understands.
    Handle { kind: Arc<str>, parent: Option<ParentHandle> },
    /// A struct by value.
    Struct(Arc<StructLayout>),
}

/// How many parameters are compared one after another faster than a name is hashed (`cargo bench -p opentool-dyn --bench calls`).
pub(super) const FEW: usize = 16;

impl Plan {
    /// How many calls run at the same time at the most.
    pub(crate) fn max_concurrency(&self) -> usize {
        if self.thread_safe { THREADS } else { 1 }
    }

    /// Whether some function takes a callback.
    pub(crate) fn has_callbacks(&self) -> bool {
        let parameters = self.functions.iter().flat_map(|function| &function.parameters);
        parameters.into_iter().any(|parameter| matches!(parameter.passing, Passing::Callback(_)))
    }

    /// What the table of codes says about a result of a function, which is the text that a call has made.
    pub(crate) fn meaning(&self, function: usize, result: &str) -> Option<&str> {
        if self.codes.is_empty() {
            return None;
        }
        let returns = self.functions[function].returns.as_ref()?;
        let Returned::Value(Value { scalar, .. }) = returns.kind else { return None };
        let rest = result.as_bytes().strip_prefix(b"{")?.strip_prefix(&*returns.key).filter(|_| scalar.is_integer())?;
        let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
        let code: i128 = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        self.codes.get(&code).map(String::as_str)
    }
}

impl Function {
    /// Whether the function returns handles.
    pub(crate) fn returns_handles(&self) -> bool {
        let returned = self.returns.as_ref().is_some_and(|returns| matches!(returns.kind, Returned::Handle { .. }));
        let makes =
            |parameter: &Parameter| matches!(parameter.passing, Passing::HandleOut { .. } | Passing::Allocated { .. });
        returned || self.parameters.iter().any(makes)
    }

    /// The types of the handles that the function takes or makes.
    pub(crate) fn handle_types(&self) -> impl Iterator<Item = &str> {
        let returned = self.returns.as_ref().and_then(|returns| match &returns.kind {
            Returned::Handle { kind, .. } => Some(&**kind),
            _ => None,
        });
        let passed = self.parameters.iter().filter_map(|parameter| match &parameter.passing {
            Passing::Handle { kind, .. } | Passing::HandleOut { kind, .. } | Passing::Allocated { kind, .. } => {
                Some(&**kind)
            }
            _ => None,
        });
        passed.chain(returned)
    }

    /// Whether some parameter is a field of the struct in this one.
    pub(crate) fn has_fields_of(&self, index: usize) -> bool {
        let is_field = |parameter: &Parameter| matches!(&parameter.passing, Passing::Field(field) if field.of == index);
        self.parameters.iter().any(is_field)
    }

    /// The parameter of a name; `next` is the one that is likely.
    #[inline]
    pub(crate) fn position(&self, name: &str, next: usize) -> Option<usize> {
        if self.parameters.get(next).is_some_and(|parameter| *parameter.name == *name) {
            return Some(next);
        }
        match &self.names {
            Some(names) => names.get(name).copied(),
            None => self.parameters.iter().position(|parameter| *parameter.name == *name),
        }
    }
}

impl Passing {
    /// Whether the parameter is part of the result.
    pub(crate) fn is_out(&self) -> bool {
        match self {
            Passing::Value(_)
            | Passing::Text { .. }
            | Passing::Array { .. }
            | Passing::Handle { .. }
            | Passing::StructValue { .. }
            | Passing::UserData => false,
            Passing::Cell { out, .. } => *out,
            Passing::Struct { goes_out, .. } => *goes_out,
            Passing::Callback(callback) => !callback.kept,
            Passing::Field(field) => field.is_out(),
            Passing::TextOut { .. }
            | Passing::ArrayOut { .. }
            | Passing::HandleOut { .. }
            | Passing::Allocated { .. }
            | Passing::Indirect { .. }
            | Passing::Events { .. } => true,
        }
    }

    /// Whether C gets it.
    pub(crate) fn is_argument(&self) -> bool {
        !matches!(self, Passing::Field(_) | Passing::Events { .. })
    }

    /// The buffer that it is, and how many bytes an element has.
    pub(crate) fn buffer(&self) -> Option<(&Buffer, usize)> {
        match self {
            Passing::TextOut { buffer, .. } => Some((buffer, 1)),
            Passing::ArrayOut { buffer, element } => Some((buffer, element.size())),
            Passing::Field(field) => match &field.content {
                AccessContent::BytesOut { buffer, .. } => Some((buffer, 1)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The scalar that another parameter may be counted by.
    pub(crate) fn counter(&self) -> Option<Value> {
        match self {
            Passing::Value(value) | Passing::Cell { value, .. } if value.scalar.is_integer() => Some(*value),
            _ => None,
        }
    }

    /// The integer that is part of the result.
    pub(crate) fn reported_integer(&self) -> Option<Value> {
        let value = match self {
            Passing::Cell { value, out: true } => value,
            Passing::Field(field) => match &field.content {
                AccessContent::Scalar { value, goes_out: true, .. } => value,
                _ => return None,
            },
            _ => return None,
        };
        Some(*value).filter(|value| value.scalar.is_integer())
    }
}
