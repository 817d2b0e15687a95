//! Panics of the user's code, which become errors: [`guarded`] and [`guarded_future`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use crate::ToolError;

/// Runs code of the user and makes an error of a panic.
pub(crate) fn guarded<T>(code: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| Err(ToolError::from_panic(panic)))
}

/// Runs code of the user that waits, and makes an error of a panic.
pub(crate) async fn guarded_future<T, E: From<ToolError>>(code: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    AssertUnwindSafe(code).catch_unwind().await.unwrap_or_else(|panic| Err(ToolError::from_panic(panic).into()))
}

impl ToolError {
    /// Makes the error of a panic that was caught: the model sees a generic text, the operator the panic's own message.
    #[cold]
    #[must_use]
    pub fn from_panic(panic: Box<dyn Any + Send>) -> Self {
        let text = if let Some(text) = panic.downcast_ref::<&str>() {
            text
        } else if let Some(text) = panic.downcast_ref::<String>() {
            text.as_str()
        } else {
            "a panic without a message"
        };
        let error = Self::panicked(text);
        // The payload is a type of the user, whose own drop may panic as well.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        error
    }
}
