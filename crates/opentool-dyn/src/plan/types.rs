//! How the functions of a document are called: [`Plan`].

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use opentool_spec::{OpenDyn, Report};

use super::extension::{Effect, Success};
use super::scalar::Value;
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
    /// What it takes, in the order of C; none where it is disabled.
    pub(crate) parameters: Box<[Parameter]>,
    /// Whether some of them is a buffer, whose size is to be settled.
    pub(crate) has_buffers: bool,
    /// The parameters by name, where there are too many to compare one after another.
    pub(crate) names: Option<HashMap<Box<str>, usize>>,
    /// What it returns besides its out parameters.
    pub(crate) returns: Option<Return>,
    /// How many parameters come before the dots of a variadic function.
    pub(crate) fixed: Option<usize>,
    /// Which codes say success, where the returned integer is a code.
    pub(crate) success: Option<Success>,
    /// The function of the library that frees what is returned.
    pub(crate) free: Option<String>,
    /// Whether `errno` is part of the result.
    pub(crate) errno: bool,
    /// What it does to the world.
    pub(crate) effect: Effect,
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
    Array { element: Value, count: Option<usize> },
    /// The address of a buffer for elements.
    ArrayOut { element: Value, buffer: Buffer },
    /// A pointer that the library returned before.
    Handle { kind: Arc<str>, closes: bool },
    /// The address of a private cell, in which the library puts a pointer.
    HandleOut { kind: Arc<str> },
}

/// How large an out buffer is, and how much of it counts afterwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// How many elements it has where no parameter says it.
    pub(crate) size: usize,
    /// The parameter that passes the number of elements to the function.
    pub(crate) size_parameter: Option<usize>,
    /// What says afterwards how many of them count.
    pub(crate) length: Option<Length>,
}

/// What says how many elements of a buffer count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// A parameter: what the library has put there, or what the caller said.
    Parameter(usize),
    /// The return value.
    Return,
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
    /// A pointer to one scalar.
    Element(Value),
    /// A pointer to text that ends with a NUL, or is counted.
    Text { encoding: Encoding, length: Option<Length> },
    /// A pointer to elements.
    Array { element: Value, size: usize, length: Option<Length> },
    /// A pointer that only the library understands.
    Handle { kind: Arc<str> },
}

/// How many parameters are compared one after another faster than a name is hashed.
pub(super) const FEW: usize = 16;

impl Plan {
    /// How many calls run at the same time at the most.
    pub(crate) fn max_concurrency(&self) -> usize {
        if self.thread_safe { THREADS } else { 1 }
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
        returned || self.parameters.iter().any(|parameter| matches!(parameter.passing, Passing::HandleOut { .. }))
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
            Passing::Value(_) | Passing::Text { .. } | Passing::Array { .. } | Passing::Handle { .. } => false,
            Passing::Cell { out, .. } => *out,
            Passing::TextOut { .. } | Passing::ArrayOut { .. } | Passing::HandleOut { .. } => true,
        }
    }

    /// The scalar that another parameter may be counted by.
    pub(crate) fn counter(&self) -> Option<Value> {
        match self {
            Passing::Value(value) | Passing::Cell { value, .. } if value.scalar.is_integer() => Some(*value),
            _ => None,
        }
    }
}
