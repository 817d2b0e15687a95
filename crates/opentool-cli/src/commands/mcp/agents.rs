//! What stands in the configuration of an agent that starts this program.

use std::{
    env, io,
    path::{Path, PathBuf, absolute},
};

use clap::ValueEnum;
use serde_json::{Value, json};

/// The name of the entry in the configuration.
const NAME: &str = "opentool";

/// An agent whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Agent {
    /// .mcp.json of a project
    ClaudeCode,
    /// claude_desktop_config.json
    ClaudeDesktop,
    /// ~/.cursor/mcp.json, or .cursor/mcp.json of a project
    Cursor,
    /// .vscode/mcp.json of a project
    Vscode,
    /// ~/.codex/config.toml
    Codex,
    /// settings.json
    Zed,
}

impl Agent {
    /// The file that it goes into.
    pub(super) fn place(self) -> &'static str {
        match self {
            Agent::ClaudeCode => ".mcp.json of the project",
            Agent::ClaudeDesktop => "claude_desktop_config.json (Settings, Developer, Edit Config)",
            Agent::Cursor => "~/.cursor/mcp.json, or .cursor/mcp.json of the project",
            Agent::Vscode => ".vscode/mcp.json of the project",
            Agent::Codex => "~/.codex/config.toml",
            Agent::Zed => "the settings.json of Zed",
        }
    }

    /// The text to put into that file.
    pub(super) fn config(self, launch: &Launch) -> String {
        let Launch { command, arguments } = launch;
        let entry = json!({ "command": command, "args": arguments });
        match self {
            Agent::ClaudeCode | Agent::ClaudeDesktop | Agent::Cursor => {
                json_text(&json!({ "mcpServers": { NAME: entry } }))
            }
            Agent::Vscode => {
                let entry = json!({ "type": "stdio", "command": command, "args": arguments });
                json_text(&json!({ "servers": { NAME: entry } }))
            }
            Agent::Zed => json_text(&json!({ "context_servers": { NAME: entry } })),
            Agent::Codex => {
                // The strings of JSON are strings of TOML too.
                let arguments: Vec<_> = arguments.iter().map(|argument| json!(argument).to_string()).collect();
                format!("[mcp_servers.{NAME}]\ncommand = {}\nargs = [{}]\n", json!(command), arguments.join(", "))
            }
        }
    }
}

fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// How an agent starts this program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Launch {
    command: String,
    arguments: Vec<String>,
}

impl Launch {
    /// Takes the command line of this process, without the option that prints it.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let command = env::current_exe()?.to_string_lossy().into_owned();
        let given = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        Ok(Launch { command, arguments: Self::arguments(given) })
    }

    /// Adds the configuration file that describes the sources.
    pub(super) fn add_config(&mut self, file: &Path) -> io::Result<()> {
        let file = absolute(file)?;
        self.arguments.extend(["--config".to_owned(), file.to_string_lossy().into_owned()]);
        Ok(())
    }

    fn arguments(given: impl Iterator<Item = String>) -> Vec<String> {
        const OPTION: &str = "--print-config";
        let mut arguments = Vec::new();
        let mut given = given.peekable();
        while let Some(argument) = given.next() {
            if argument == "--mcp" {
                arguments.push(argument);
                arguments.extend(given.next().map(|command| with_absolute_program(&command)));
            } else if let Some(command) = argument.strip_prefix("--mcp=") {
                arguments.push(format!("--mcp={}", with_absolute_program(command)));
            } else if argument == OPTION {
                given.next_if(|value| Agent::from_str(value, false).is_ok());
            } else if !argument.starts_with(&format!("{OPTION}=")) {
                arguments.push(with_absolute_paths(&argument));
            }
        }
        arguments
    }
}

/// Makes the files in an argument absolute, since an agent starts its servers in a folder of its own.
fn with_absolute_paths(argument: &str) -> String {
    if let Some(path) = absolute_file(argument) {
        return path;
    }
    // `DOCUMENT=LIB`, `--library=LIB`, `read=PATH`.
    match argument.split_once('=') {
        Some((before, after)) => {
            let before = absolute_file(before).unwrap_or_else(|| before.to_owned());
            format!("{before}={}", with_absolute_paths(after))
        }
        None => argument.to_owned(),
    }
}

/// The command of an MCP server whose program, and files among its arguments, are found from every folder. A word without a folder before
/// it may be something else than the file of that name.
fn with_absolute_program(command: &str) -> String {
    let Some(mut words) = shlex::split(command) else { return command.to_owned() };
    for (number, word) in words.iter_mut().enumerate() {
        let path = Path::new(&*word);
        let has_folder = path.components().count() > 1 || word.starts_with("./") || word == "." || word == "..";
        if has_folder
            && (number == 0 || path.exists())
            && let Some(absolute) = absolute(path).ok().and_then(|path| path.to_str().map(str::to_owned))
        {
            *word = absolute;
        }
    }
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| command.to_owned())
}

fn absolute_file(text: &str) -> Option<String> {
    // A name without a folder is a word too, such as a library that the system finds.
    let is_path = !text.is_empty() && Path::new(text).exists();
    let absolute: PathBuf = is_path.then(|| absolute(text).ok()).flatten()?;
    absolute.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn arguments(given: &[&str]) -> Vec<String> {
        Launch::arguments(given.iter().map(ToString::to_string))
    }

    #[test]
    fn the_option_is_left_out_and_files_are_made_absolute() {
        let manifest = absolute("Cargo.toml").unwrap().to_str().unwrap().to_owned();
        assert_eq!(arguments(&["mcp", "demo", "--print-config"]), ["mcp", "demo"]);
        assert_eq!(arguments(&["mcp", "--print-config", "zed", "demo"]), ["mcp", "demo"]);
        assert_eq!(arguments(&["mcp", "--print-config=zed", "http://a"]), ["mcp", "http://a"]);
        assert_eq!(
            arguments(&[
                "mcp",
                "Cargo.toml",
                "--library",
                "libm.so.6",
                "--library=Cargo.toml",
                "Cargo.toml=Cargo.toml"
            ]),
            [
                "mcp",
                &manifest,
                "--library",
                "libm.so.6",
                &format!("--library={manifest}"),
                &format!("{manifest}={manifest}"),
            ]
        );
    }

    #[test]
    fn the_program_of_an_mcp_server_is_made_absolute() {
        let program = absolute("node_modules/.bin/server").unwrap().to_str().unwrap().to_owned();
        let file = absolute("src/main.rs").unwrap().to_str().unwrap().to_owned();
        let given = "node_modules/.bin/server data 'a b' ./src/main.rs";
        let expected = format!("{program} data 'a b' {file}");
        assert_eq!(arguments(&["mcp", "--mcp", given]), ["mcp", "--mcp", &expected]);
        assert_eq!(arguments(&["mcp", &format!("--mcp={given}")]), ["mcp", &format!("--mcp={expected}")]);
        assert_eq!(arguments(&["mcp", "--mcp", "npx -y @a/server"]), ["mcp", "--mcp", "npx -y @a/server"]);
    }

    #[test]
    fn each_agent_gets_its_own_form() {
        let launch =
            Launch { command: "/bin/opentool".to_owned(), arguments: vec!["mcp".to_owned(), "a \"b\"".to_owned()] };
        let table = "[mcp_servers.opentool]\ncommand = \"/bin/opentool\"\nargs = [\"mcp\", \"a \\\"b\\\"\"]\n";
        assert_eq!(Agent::Codex.config(&launch), table);
        let parsed: toml::Table = table.parse().unwrap();
        assert_eq!(parsed["mcp_servers"]["opentool"]["args"][1].as_str(), Some("a \"b\""));
        for (agent, key) in
            [(Agent::ClaudeCode, "mcpServers"), (Agent::Vscode, "servers"), (Agent::Zed, "context_servers")]
        {
            let config: Value = serde_json::from_str(&agent.config(&launch)).unwrap();
            assert_eq!(config[key]["opentool"]["args"], json!(["mcp", "a \"b\""]));
        }
    }
}
