//! Closures of every shape as the body of a tool.
//!
//! A marker type, which the compiler infers, distinguishes the shapes: it names the one impl that fits.

use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use serde::Serialize;

use super::body::{AsyncBody, Body};
use super::input::ToolInput;
use super::recipe::InputType;
use crate::returns::into_output;
use crate::{Failure, Invocation, ToolContext, ToolError, ToolOutput};

/// A closure that [`FnTool::new`](crate::FnTool::new) takes: value or future, with or without input and context.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a tool",
    label = "not a shape that `FnTool::new` takes",
    note = "a closure takes an input, a `ToolContext` (by value), both in this order, or nothing; where there are several parameters, write a `#[tool] fn`",
    note = "it returns a value that implements `serde::Serialize`, or a `Send` future of one, as in `|input: Input| async move {{ … }}`; where it is a `Result`, take `FnTool::fallible`",
    note = "the input implements `serde::Deserialize` and `schemars::JsonSchema`"
)]
pub trait ToolFunction<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn into_parts(self) -> Parts;
}

/// A closure that [`FnTool::fallible`](crate::FnTool::fallible) takes: like [`ToolFunction`], but what it returns is a
/// `Result<T, Failure>`.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a fallible tool",
    label = "not a shape that `FnTool::fallible` takes",
    note = "a closure takes an input, a `ToolContext` (by value), both in this order, or nothing; where there are several parameters, write a `#[tool] fn`",
    note = "it returns a `Result<T, Failure>`, or a `Send` future of one, as in `|input: Input| async move {{ … }}`, where `T` implements `serde::Serialize`; `?` turns every `std::error::Error` into a `Failure`",
    note = "the input implements `serde::Deserialize` and `schemars::JsonSchema`"
)]
pub trait FallibleToolFunction<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn into_parts(self) -> Parts;
}

/// A closure, taken apart.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parts {
    pub(super) input: Option<InputType>,
    pub(super) body: Body,
}

/// Marks a shape that returns a value.
#[derive(Debug)]
pub struct ReturnsValue<S>(PhantomData<S>);

/// Marks a shape that returns a future.
#[derive(Debug)]
pub struct ReturnsFuture<S>(PhantomData<S>);

/// An async closure: how to call it, and how to convert its result.
struct AsyncClosure<F, Fut: Future> {
    function: F,
    start: fn(&F, Invocation<'_>) -> Result<Fut, ToolError>,
    convert: fn(Fut::Output) -> Result<ToolOutput, ToolError>,
}

impl<F, Fut> AsyncBody for AsyncClosure<F, Fut>
where
    F: Send + Sync + 'static,
    Fut: Future + Send + 'static,
{
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let future = (self.start)(&self.function, invocation)?;
            (self.convert)(future.await)
        })
    }
}

fn fallible<T: Serialize + 'static>(result: Result<T, Failure>) -> Result<ToolOutput, ToolError> {
    into_output(result?)
}

/// One shape: its parameters, how to get each from an invocation, and the type of the input.
macro_rules! shape {
    ($invocation:ident, [$($input:ident)?], ($($type:ty = $value:expr),*)) => {
        shape!(@trait ToolFunction, into_output::<R>, R, $invocation, [$($input)?], ($($type = $value),*));
        shape!(@trait FallibleToolFunction, fallible::<R>, Result<R, Failure>, $invocation, [$($input)?], ($($type = $value),*));
    };
    (@trait $trait:ident, $convert:expr, $returned:ty, $invocation:ident, [$($input:ident)?], ($($type:ty = $value:expr),*)) => {
        impl<F, $($input,)? R> $trait<ReturnsValue<fn($($type),*) -> R>> for F
        where
            F: Fn($($type),*) -> $returned + Send + Sync + 'static,
            $($input: ToolInput + 'static,)?
            R: Serialize + 'static,
        {
            fn into_parts(self) -> Parts {
                let body = Body::sync(move |$invocation: Invocation<'_>| {
                    let _ = &$invocation;
                    $convert(self($($value),*))
                });
                Parts { input: shape!(@input $($input)?), body }
            }
        }

        impl<F, $($input,)? Fut, R> $trait<ReturnsFuture<fn($($type),*) -> Fut>> for F
        where
            F: Fn($($type),*) -> Fut + Send + Sync + 'static,
            $($input: ToolInput + 'static,)?
            Fut: Future<Output = $returned> + Send + 'static,
            R: Serialize + 'static,
        {
            fn into_parts(self) -> Parts {
                let body = Body::Async(Box::new(AsyncClosure {
                    function: self,
                    start: |function: &F, $invocation: Invocation<'_>| {
                        let _ = &$invocation;
                        Ok(function($($value),*))
                    },
                    convert: $convert,
                }));
                Parts { input: shape!(@input $($input)?), body }
            }
        }
    };
    (@input) => { None };
    (@input $input:ident) => {
        Some(InputType { name: type_name::<$input>(), schema: <$input as ToolInput>::schema })
    };
}

shape!(invocation, [], ());
shape!(invocation, [], (ToolContext = invocation.context.clone()));
shape!(invocation, [I], (I = I::read(invocation.arguments)?));
shape!(invocation, [I], (I = I::read(invocation.arguments)?, ToolContext = invocation.context.clone()));
