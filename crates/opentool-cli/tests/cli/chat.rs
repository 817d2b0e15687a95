//! `opentool chat` with a scripted model, over real HTTP.

mod attached;
mod conversations;
#[cfg(unix)]
mod interactive;
mod model;
mod observed;
mod prompts;
mod runs;
#[cfg(unix)]
pub(crate) mod terminal;
mod workflows;

use super::{Ran, TestFolder, json, serving, serving::document};
use model::{Model, Reply};

/// The variables that mean something to `opentool chat`.
const VARIABLES: [&str; 13] = [
    "OPENTOOL_MODEL",
    "OPENTOOL_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
    "RUST_LOG",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "CLICOLOR_FORCE",
];

/// What makes a scripted model the one that is asked.
fn environment(model: &Model) -> [(&'static str, String); 3] {
    [
        ("OPENAI_BASE_URL", model.url("/v1")),
        ("OPENAI_API_KEY", "s3cret-key".to_owned()),
        ("OPENTOOL_MODEL", "openai:scripted".to_owned()),
    ]
}

/// Runs `opentool chat` with a scripted model and something on standard input.
fn chat(folder: &TestFolder, model: &Model, arguments: &[&str], input: &str) -> Ran {
    let environment = environment(model);
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    chat_in(folder, arguments, &environment, input)
}

/// Runs `opentool chat` in an environment.
fn chat_in(folder: &TestFolder, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Ran {
    let mut command = folder.command();
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("XDG_DATA_HOME", folder.path("data")).envs(environment.iter().copied());
    let output = command.arg("chat").args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
