//! The attributes work where the crate has another name in `Cargo.toml`.
#![allow(clippy::unwrap_used, missing_docs)]

use renamed_core::{DeclaredTools, Executor, tool, toolbox};

/// Add two numbers.
#[tool(crate = renamed_core)]
fn add(a: i64, #[param(default = 1)] b: i64) -> Result<i64, String> {
    Ok(a + b)
}

struct Clock;

#[toolbox(crate = "renamed_core")]
impl Clock {
    #[tool(read_only, serial)]
    async fn now(&self, zone: &str, context: &renamed_core::ToolContext) -> String {
        let _ = context;
        zone.to_owned()
    }
}

mod inside {
    /// What a crate that wraps ours would export.
    pub(crate) mod wrapped {
        pub(crate) use renamed_core::*;
    }

    #[renamed_core::tool(crate = crate::inside::wrapped)]
    pub(crate) fn deep(word: &str) -> &str {
        word
    }
}

#[tokio::test]
async fn a_renamed_crate_is_named_by_the_attribute() {
    let host = Executor::new().host((add::tool(), Clock, inside::deep::tool()));
    assert_eq!(host.call("add", r#"{"a": 1}"#).await.unwrap().to_text(), "2");
    assert_eq!(host.call("now", r#"{"zone": "UTC"}"#).await.unwrap().to_text(), "UTC");
    assert_eq!(host.call("deep", r#"{"word": "x"}"#).await.unwrap().to_text(), "x");
    assert_eq!(Clock::definitions().unwrap().len(), 1);
}
