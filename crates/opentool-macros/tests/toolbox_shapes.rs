//! A `#[toolbox]` in a strict crate, with lints on.
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications)]
#![forbid(unsafe_code)]

use opentool::{DeclaredTools, ToolContext, tool, toolbox};

/// A clock that stands still.
#[derive(Debug)]
pub struct Clock<T> {
    now: T,
}

#[toolbox(title = "Clock", version = env!("CARGO_PKG_VERSION"))]
impl<T: ToString + Send + Sync + 'static> Clock<T> {
    /// Makes one.
    pub fn new(now: T) -> Self {
        Self { now }
    }

    /// Tell the time.
    #[tool]
    pub fn now(&self) -> String {
        self.now.to_string()
    }

    /// Wait.
    #[tool]
    async fn wait(
        &self,
        #[param(description = "How long.")] seconds: u32,
        _context: &ToolContext,
    ) -> Result<u32, String> {
        Ok(seconds)
    }

    #[tool]
    fn zone() -> &'static str {
        "UTC"
    }
}

/// Say hello.
#[tool]
pub fn hello(
    /// Whom to greet.
    name: &str,
) -> String {
    format!("hello {name}")
}

#[test]
fn a_toolbox_compiles_under_strict_lints() {
    assert_eq!(Clock::<u8>::definitions().map(|all| all.len()).ok(), Some(3));
    assert!(Clock::new(1).into_toolbox().is_ok());
    assert!(hello::definition().is_ok());
}
