//! The configuration file: TOML whose keys are the options' names.

use opentool_spec::json::near;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args as _, FromArgMatches as _};
use toml::Value;

use super::options::Options;
use crate::failure::Failure;

/// The file that is read where none is named.
const DEFAULT: &str = "opentool.toml";

/// The key of what stands without a name on the command line.
const SOURCES: &str = "sources";

/// The option that starts a program.
const MCP: &str = "mcp";

/// Reads the options of a file, by default of `opentool.toml` if there is one.
pub(super) fn read(path: Option<&Path>) -> Result<Options, Failure> {
    let (path, named) = match path {
        Some(path) => (path.to_owned(), true),
        None => (PathBuf::from(DEFAULT), false),
    };
    let name = path.to_string_lossy().into_owned();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if !named && error.kind() == io::ErrorKind::NotFound => return Ok(Options::default()),
        Err(source) => return Err(Failure::Read { name, source }),
    };
    parse(&text).map_err(|problem| Failure::usage(format!("{name}: {problem}")))
}

/// The file is turned into a command line, so that both mean the same to the last check.
fn parse(text: &str) -> Result<Options, String> {
    let table = text.parse::<toml::Table>().map_err(|error| located(text, &error))?;
    let command = clap::Command::new(DEFAULT).no_binary_name(true).disable_help_flag(true);
    let command = Options::augment_args(command);
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let named = shown.filter_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned).collect();
        Some(Known { name: argument.get_long()?.to_owned(), aliases })
    });
    let mut known: Vec<_> = named.filter(|known| known.name != MCP).collect();
    known.push(Known { name: SOURCES.to_owned(), aliases: vec!["source".to_owned()] });

    let (mut arguments, mut sources) = (Vec::new(), Vec::new());
    for (key, value) in &table {
        if key == MCP {
            return Err("`mcp` would start a program of the file's choice: give `--mcp` on the command line".to_owned());
        }
        if !known.iter().any(|known| known.name == *key) {
            return Err(unknown(key, &known));
        }
        for text in texts(value).ok_or_else(|| format!("`{key}` must be a value or a list of values"))? {
            if key == SOURCES {
                sources.push(text);
            } else {
                arguments.push(format!("--{key}={text}"));
            }
        }
    }
    arguments.push("--".to_owned());
    arguments.append(&mut sources);
    let matches = command.try_get_matches_from(arguments).map_err(|error| first_line(&error))?;
    Options::from_arg_matches(&matches).map_err(|error| first_line(&error))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Boolean(answer) => Some(vec![answer.to_string()]),
        Value::Datetime(time) => Some(vec![time.to_string()]),
        Value::Array(values) => {
            let texts: Option<Vec<_>> = values.iter().filter(|value| !value.is_array()).map(texts).collect();
            texts.map(|texts| texts.concat()).filter(|texts| texts.len() == values.len())
        }
        Value::Table(_) => None,
    }
}

/// A key that a file may have.
struct Known {
    name: String,
    /// What the command line takes as well.
    aliases: Vec<String>,
}

fn unknown(key: &str, known: &[Known]) -> String {
    let alias = known.iter().find(|known| known.aliases.iter().any(|alias| alias == key));
    let near = near::names(key, known.iter().map(|known| known.name.as_str()), 1).first().copied();
    match alias.map(|known| known.name.as_str()).or(near) {
        Some(name) => format!("there is no option `{key}`; did you mean `{name}`?"),
        None => {
            let names: Vec<_> = known.iter().map(|known| known.name.as_str()).collect();
            format!("there is no option `{key}`; there are {}", names.join(", "))
        }
    }
}

/// What is wrong with the TOML, without the line itself, in which a key may stand.
fn located(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
            format!("line {line}, column {column}: {message}")
        }
        None => message.to_owned(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    #[test]
    fn every_kind_of_option_can_stand_in_a_file() {
        let options = parse(
            r#"
            sources = ["a.json", "http://b"]
            port = 8080
            host = "::1"
            api-key = ["one", "two,three"]
            enable-stop = true
            cors = false
            drain-timeout = "2m"
            drain-delay = 3
            "#,
        )
        .unwrap();
        assert_eq!(options.sources, ["a.json", "http://b"]);
        assert_eq!((options.port, options.host.as_deref()), (Some(8080), Some("::1")));
        let keys: Vec<_> = options.api_key.iter().map(|key| key.expose()).collect();
        assert_eq!(keys, ["one", "two,three"]);
        assert_eq!((options.enable_stop, options.cors, options.insecure_no_auth), (Some(true), Some(false), None));
        assert_eq!(options.drain_timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.drain_delay, Some(Duration::from_secs(3)));
    }

    #[test]
    fn errors_name_the_key_and_show_no_secret() {
        for (text, problem) in [
            ("prot = 1", "there is no option `prot`; did you mean `port`?"),
            ("drain_timeout = 1", "there is no option `drain_timeout`; did you mean `drain-timeout`?"),
            ("toolPort = 1", "there is no option `toolPort`; did you mean `port`?"),
            ("[port]", "`port` must be a value or a list of values"),
            ("port = [[1]]", "`port` must be a value or a list of values"),
            ("port = 70000", "invalid value '70000' for '--port <PORT>': 70000 is not in 0..=65535"),
            ("port = [1, 2]", "the argument '--port <PORT>' cannot be used multiple times"),
            ("enable-stop = \"maybe\"", "invalid value 'maybe' for '--enable-stop[=<BOOL>]'"),
            ("\napi-key = \"planted", "line 2, column 19: invalid basic string, expected `\"`"),
        ] {
            assert_eq!(parse(text).map(|_| ()), Err(problem.to_owned()), "{text}");
        }
        assert!(parse("qqq = 1").unwrap_err().starts_with("there is no option `qqq`; there are host, port, "));
    }
}
