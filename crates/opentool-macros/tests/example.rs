//! A function that a model can call, and that is still a function.

use opentool::{Executor, tool};

/// Add two integers.
#[tool(read_only)]
fn add(
    /// The first of them.
    a: i64,
    b: i64,
) -> i64 {
    a + b
}

#[tokio::test]
async fn a_tool_is_called_by_its_name_and_as_a_function() -> Result<(), Box<dyn std::error::Error>> {
    let host = Executor::new().host(add::tool());
    assert_eq!(host.call("add", r#"{"a": 1, "b": 2}"#).await?.to_text(), "3");
    assert_eq!(add(1, 2), 3);
    Ok(())
}
