//! The configuration file: TOML whose keys are the options' names.

use std::path::Path;

use clap::{Args as _, FromArgMatches as _};
use opentool_spec::json::near;
use toml::{Value, de::DeTable};

use super::{
    super::model::{MODEL, ModelTable},
    options::Options,
};
use crate::{
    config_file::{ConfigFile, DEFAULT},
    failure::Failure,
    setting::{SOURCES, Setting},
    source_tables::NamedSources,
    terminal::{note, visible},
};

/// Reads the options and the sources of a file, by default of `opentool.toml` if there is one, and says on standard error
/// which they are.
///
/// A file that was not named must be trusted, unless nothing in it needs that.
pub(super) fn read(named: Option<&Path>) -> Result<FileContent, Failure> {
    let Some(file) = ConfigFile::given_or_found(named)? else {
        return Ok(FileContent { options: Options::default(), sources: NamedSources::none(), model: None });
    };
    let (content, settings) = parse_file(&file)?;
    let is_trusted = file.check_trust(settings.iter(), "serve")?;
    let why = match (file.is_named(), is_trusted) {
        (true, _) => " (named by --config)",
        (false, true) => " (trusted)",
        (false, false) => "",
    };
    let mut keys: Vec<_> = settings.iter().map(|setting| short(&setting.key)).collect();
    keys.dedup();
    let keys = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
    note(&format_args!("settings from {}{why}: {}", visible(&file.name()), visible(&keys)));
    Ok(content)
}

/// The table of a key: `sources.NAME` for that of a source, `model` for one of the model.
fn short(key: &str) -> &str {
    let dots = if key.starts_with(SOURCES) { 1 } else { 0 };
    match key.match_indices('.').nth(dots) {
        Some((at, _)) => &key[..at],
        None => key,
    }
}

/// What stands in a file, in its order.
pub(in crate::commands) fn settings(file: &ConfigFile) -> Result<Vec<Setting>, Failure> {
    Ok(parse_file(file)?.1)
}

/// What stands in a file.
pub(super) struct FileContent {
    pub(super) options: Options,
    pub(super) sources: NamedSources,
    pub(super) model: Option<ModelTable>,
}

fn parse_file(file: &ConfigFile) -> Result<(FileContent, Vec<Setting>), Failure> {
    let parsed = parse(&file.text).map_err(|problem| Failure::usage(format!("{}: {problem}", file.name())));
    let (mut options, mut settings) = parsed?;
    let mut sources = NamedSources::from_file(file, "serve")?;
    for table in sources.tables_mut() {
        options.sources.push(table.name.clone());
        settings.append(&mut table.settings);
    }
    let mut model = ModelTable::of_file(file)?;
    if let Some(table) = &mut model {
        settings.append(&mut table.settings);
    }
    settings.sort_by_key(|setting| setting.line);
    Ok((FileContent { options, sources, model }, settings))
}

/// The file is turned into a command line, so that both mean the same to the last check.
fn parse(text: &str) -> Result<(Options, Vec<Setting>), String> {
    let table = text.parse::<toml::Table>().map_err(|error| located(text, &error))?;
    let command = clap::Command::new(DEFAULT).no_binary_name(true).disable_help_flag(true);
    let command = Options::augment_args(command);
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let named = shown.filter_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned).collect();
        // What these say stands in `[model]`.
        let name = argument.get_long().filter(|name| !name.starts_with("model-"))?;
        Some(Known { name: name.to_owned(), aliases })
    });
    let mut known: Vec<_> = named.collect();
    known.push(Known { name: SOURCES.to_owned(), aliases: vec!["source".to_owned()] });

    let (mut arguments, mut sources, mut settings) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in &table {
        if !known.iter().any(|known| known.name == *key) {
            return Err(unknown(key, &known));
        }
        if key == MODEL || (key == SOURCES && value.is_table()) {
            // The tables are read by themselves.
            continue;
        }
        let values = texts(value).ok_or_else(|| format!("`{key}` must be a value or a list of values"))?;
        for text in &values {
            if key == SOURCES {
                sources.push(text.clone());
            } else {
                arguments.push(format!("--{key}={text}"));
            }
        }
        settings.push(Setting::from_option(key, &values, line_of(text, key)));
    }
    settings.sort_by_key(|setting| setting.line);
    arguments.push("--".to_owned());
    arguments.append(&mut sources);
    let matches = command.try_get_matches_from(arguments).map_err(|error| first_line(&error))?;
    let options = Options::from_arg_matches(&matches).map_err(|error| first_line(&error))?;
    Ok((options, settings))
}

/// The line on which a key stands.
fn line_of(text: &str, key: &str) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 1 };
    let found = table.get_ref().keys().find(|found| found.get_ref() == key);
    let before = found.and_then(|found| text.get(..found.span().start));
    before.map_or(1, |before| before.matches('\n').count() + 1)
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
        .unwrap()
        .0;
        assert_eq!(options.sources, ["a.json", "http://b"]);
        assert_eq!((options.port, options.host.as_deref()), (Some(8080), Some("::1")));
        let keys: Vec<_> = options.api_key.iter().map(|key| key.expose()).collect();
        assert_eq!(keys, ["one", "two,three"]);
        assert_eq!((options.enable_stop, options.cors, options.insecure_no_auth), (Some(true), Some(false), None));
        assert_eq!(options.drain_timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.drain_delay, Some(Duration::from_secs(3)));
    }

    #[test]
    fn limits_and_keys_of_sources_can_stand_in_a_file() {
        let (options, _) = parse(
            r#"
            max-body = "512k"
            max-result = "4M"
            max-buffered = 1048576
            max-connections = 10
            max-calls = 5
            timeout = "2m"
            half-close-timeout = "0s"
            ca-file = "ca.pem"
            source-api-key-env = ["A", "http://b=B"]
            source-api-key-file = "key"
            "#,
        )
        .unwrap();
        assert_eq!((options.max_body, options.max_result), (Some(512 << 10), Some(4 << 20)));
        assert_eq!(options.max_buffered, Some(1 << 20));
        assert_eq!(options.max_connections.map(usize::from), Some(10));
        assert_eq!(options.max_calls.map(usize::from), Some(5));
        assert_eq!(options.libraries.timeout(), Some(Duration::from_secs(120)));
        assert_eq!(options.half_close_timeout, Some(Duration::ZERO));
        assert!(options.certificates.read().is_err(), "there is no such file");
        assert!(options.source_keys.read().is_err());
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
        assert!(
            parse("qqq = 1").unwrap_err().starts_with("there is no option `qqq`; there are mcp, tools, host, port, ")
        );
    }
}
