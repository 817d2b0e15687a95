//! What to try after an error: the user's own command line, corrected, or another one.

use std::{
    borrow::Cow,
    env,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use opentool_spec::json::near;

/// The command that runs, for instance `mcp login`.
static COMMAND: OnceLock<String> = OnceLock::new();

/// Remembers which command runs.
pub(crate) fn set_command(path: String) {
    // It is set once, where the command line was understood.
    let _ = COMMAND.set(path);
}

/// The command that runs; empty where the command line was not understood.
pub(crate) fn command() -> &'static str {
    COMMAND.get().map_or("", String::as_str)
}

/// How the help of the command that runs is shown.
pub(crate) fn help() -> String {
    help_of(command())
}

/// How the help of a command is shown.
pub(crate) fn help_of(command: &str) -> String {
    let space = if command.is_empty() { "" } else { " " };
    format!("opentool {command}{space}--help")
}

/// A command line of this program, quoted for a shell; none where a secret may stand in it.
pub(crate) fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut line = "opentool".to_owned();
    for word in words {
        if may_be_secret(word) {
            return None;
        }
        line.push(' ');
        line.push_str(&quoted(word)?);
    }
    Some(line)
}

/// A word as a shell takes it. The crate quotes `=` too, which only a command's first word needs.
pub(crate) fn quoted(word: &str) -> Option<Cow<'_, str>> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./:=@%+,-".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Some(word.into());
    }
    shlex::try_quote(word).ok()
}

/// The command line that was given, with another word in the place of one that is wrong. Of `--option=VALUE` and `name=value`,
/// what stands before the `=` can be replaced, and of `DOCUMENT=LIB` what stands after it.
pub(crate) fn with_word(wrong: &str, right: &str) -> Option<String> {
    let mut given = given()?;
    let word = given.iter_mut().find_map(|word| replaced(word, wrong, right).map(|new| (word, new)));
    let (word, new) = word?;
    *word = new;
    command_line(given.iter().map(String::as_str))
}

/// The command line that was given, with another value of an option, which has several names; the first one is added where none is given.
pub(crate) fn with_option(names: &[&str], value: &str) -> Option<String> {
    let given = replaced_option(given()?, names, value);
    command_line(given.iter().map(String::as_str))
}

/// The command line that was given, with one more flag.
pub(crate) fn with_flag(flag: &str) -> Option<String> {
    let given = given()?;
    command_line(given.iter().map(String::as_str).chain([flag]))
}

/// The command line that was given, with the URL of an MCP server in the place of one that was perhaps meant to be that.
pub(crate) fn with_mcp_url(url: &str) -> Option<String> {
    let is_it = |word: &&String| word.trim_end_matches('/') == url.trim_end_matches('/');
    let wrong = given()?.iter().find(is_it)?.clone();
    with_word(&wrong, &mcp_url(&wrong)?)
}

/// The URL that was perhaps meant: `mcp+http://…/mcp` for `http://…/mcp`, and for `mcp+http://…` without a path.
fn mcp_url(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    let has_path = rest.trim_end_matches('/').contains('/');
    match scheme {
        "http" | "https" if rest.ends_with("/mcp") => Some(format!("mcp+{word}")),
        "mcp+http" | "mcp+https" if !has_path => Some(format!("{}/mcp", word.trim_end_matches('/'))),
        _ => None,
    }
}

fn replaced_option(mut given: Vec<String>, names: &[&str], value: &str) -> Vec<String> {
    for at in 0..given.len() {
        let word = &given[at];
        if names.contains(&word.as_str()) && at + 1 < given.len() {
            given[at + 1] = value.to_owned();
            return given;
        }
        let is_long = |name: &str| name.starts_with("--");
        // `--port=1`, `-t1` and `-t=1`.
        let start = names.iter().find_map(|name| match is_long(name) {
            true => Some(format!("{name}=")).filter(|start| word.starts_with(start)),
            false => Some((*name).to_owned()).filter(|start| word.starts_with(start)),
        });
        if let Some(start) = start {
            given[at] = format!("{start}{value}");
            return given;
        }
    }
    given.extend(names.first().map(|name| (*name).to_owned()));
    given.push(value.to_owned());
    given
}

/// The command line that was given, with the file whose name comes nearest to one that is not there.
pub(crate) fn with_near_file(missing: &str) -> Option<String> {
    let path = Path::new(missing);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> =
        folder.read_dir().ok()?.flatten().filter_map(|it| it.file_name().into_string().ok()).collect();
    let near = near::names(path.file_name()?.to_str()?, names.iter().map(String::as_str), 1);
    let file: PathBuf = path.with_file_name(near.first()?);
    let file = file.to_str()?;
    // A message has `./a.json` by its shorter name.
    with_word(missing, file).or_else(|| with_word(&format!("./{missing}"), file))
}

/// The words of the command line; none where one is no text.
fn given() -> Option<Vec<String>> {
    env::args_os().skip(1).map(|word| word.into_string().ok()).collect()
}

fn replaced(word: &str, wrong: &str, right: &str) -> Option<String> {
    if word == wrong {
        return Some(right.to_owned());
    }
    let (before, after) = word.split_once('=')?;
    match (before == wrong, after == wrong) {
        (true, _) => Some(format!("{right}={after}")),
        (false, true) => Some(format!("{before}={right}")),
        (false, false) => None,
    }
}

/// Whether a word says that it, or the next one, is secret. What is typed may be shown in a place where others read it.
fn may_be_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let is_named = ["key", "token", "secret", "password"].iter().any(|name| word.contains(name));
    // `-k KEY` of `serve`, and what may stand in a URL.
    is_named || word == "-k" || (word.contains("://") && (word.contains('@') || word.contains('?')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_replaced_where_it_stands() {
        assert_eq!(replaced("--prt", "--prt", "--port").as_deref(), Some("--port"));
        assert_eq!(replaced("--prt=1", "--prt", "--port").as_deref(), Some("--port=1"));
        assert_eq!(replaced("bass=2", "bass", "base").as_deref(), Some("base=2"));
        assert_eq!(replaced("a.json=libmm.so", "libmm.so", "libm.so").as_deref(), Some("a.json=libm.so"));
        assert_eq!(replaced("a=b", "c", "d"), None);
    }

    #[test]
    fn an_option_is_replaced_under_every_name() {
        for (given, expected) in [
            ("serve", "serve --port 2"),
            ("serve --port 1 demo", "serve --port 2 demo"),
            ("serve --port=1", "serve --port=2"),
            ("serve -t 1", "serve -t 2"),
            ("serve -t1 demo", "serve -t2 demo"),
            ("serve --toolPort 1", "serve --toolPort 2"),
        ] {
            let words = given.split(' ').map(str::to_owned).collect();
            assert_eq!(replaced_option(words, &["--port", "-t", "--toolPort"], "2").join(" "), expected);
        }
    }

    #[test]
    fn a_command_line_is_quoted_and_never_shows_a_secret() {
        assert_eq!(command_line(["call", "demo", "a=1", "~"]).as_deref(), Some("opentool call demo a=1 '~'"));
        assert_eq!(command_line(["call", "demo", "text=a b"]).as_deref(), Some("opentool call demo 'text=a b'"));
        for secret in ["--api-key", "-k", "password=x", "http://me:pw@a", "https://a?x=y", "--source-api-key=x"] {
            assert_eq!(command_line(["serve", secret]), None, "{secret}");
        }
    }

    #[test]
    fn the_url_of_an_mcp_server_is_found_in_another_one() {
        assert_eq!(mcp_url("http://a:1/mcp").as_deref(), Some("mcp+http://a:1/mcp"));
        assert_eq!(mcp_url("mcp+https://a/").as_deref(), Some("mcp+https://a/mcp"));
        assert_eq!(mcp_url("mcp+http://a:1").as_deref(), Some("mcp+http://a:1/mcp"));
        for right in ["http://a", "mcp+http://a/mcp", "mcp+http://a/x", "demo", "a.json"] {
            assert_eq!(mcp_url(right), None, "{right}");
        }
    }

    #[test]
    fn the_help_of_a_command_is_named() {
        assert_eq!(help_of(""), "opentool --help");
        assert_eq!(help_of("mcp login"), "opentool mcp login --help");
    }
}
