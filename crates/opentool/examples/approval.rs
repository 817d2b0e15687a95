//! A model that must ask a person before it deletes something. The question is put at the terminal, while the call waits.
//!
//! ```console
//! $ cargo run -p opentool --example approval --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

mod scripted_model;

use std::error::Error;
use std::io::Write;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use opentool::prelude::*;
use serde_json::json;

/// The files of the folder that the model works in.
static FOLDER: LazyLock<Mutex<Vec<String>>> =
    LazyLock::new(|| Mutex::new(["draft.txt", "thesis.txt"].map(str::to_owned).into()));

fn folder() -> MutexGuard<'static, Vec<String>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// List the files of a folder.
#[tool(read_only)]
fn list() -> Vec<String> {
    folder().clone()
}

/// Delete a file.
#[tool(destructive)]
fn delete(path: String) -> Result<String, Failure> {
    let mut files = folder();
    let place = files.iter().position(|file| *file == path).ok_or(Failure::new("there is no such file"))?;
    files.remove(place);
    Ok(format!("{path} is deleted"))
}

/// Asks at the terminal. Anything but `y` is a no, the end of the input too.
fn ask(question: &str) -> Decision {
    print!("{question} [y/N] ");
    let mut answer = String::new();
    let asked = std::io::stdout().flush().and_then(|()| std::io::stdin().read_line(&mut answer));
    println!();
    match asked {
        Ok(_) if answer.trim() == "y" => Decision::Approve,
        _ => Decision::Deny("the user said no".to_owned()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // In your program: OpenAi::from_env()?, or any other provider.
    let model = scripted_model::start([
        scripted_model::calls([("list", json!({}))]),
        scripted_model::calls([
            ("delete", json!({ "path": "draft.txt" })),
            ("delete", json!({ "path": "thesis.txt" })),
        ]),
        scripted_model::text("I deleted what you allowed."),
    ])?;
    let policy = Ask::with(|request| {
        let question = format!("{} {}?", request.tool.definition().name(), request.arguments.as_str());
        async move { ask(&question) }
    });
    let executor = Executor::builder().approval(policy.for_destructive(true)).build();
    let model = ChatModel::builder(model).executor(executor).build();
    let client = ChatClient::builder(model).default_tools((list::tool(), delete::tool())).build();
    let answer = client.prompt("Delete the files that are not needed.").call().await?;
    println!("{answer}");
    println!("left: {}", folder().join(", "));
    Ok(())
}
