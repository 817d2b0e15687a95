//! A setting of a configuration file: [`Setting`], and whether it counts in a file that is not trusted.

use std::{fmt, net::IpAddr};

use crate::terminal::visible;

/// The name of the file of a folder.
pub(crate) const CONFIG_FILE: &str = "opentool.toml";

/// The port of `opentool serve` where none is given.
pub(crate) const DEFAULT_PORT: u16 = 9627;

/// The key of what stands without a name on the command line, and of the table of sources.
pub(crate) const SOURCES: &str = "sources";

/// The key of the sources whose tools the steps of workflows call.
pub(crate) const TOOLS: &str = "tools";

/// A setting of a file.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) line: usize,
    /// The value in TOML.
    shown: String,
    /// The values of an option of `opentool serve`.
    values: Vec<String>,
    is_harmless: bool,
}

impl Setting {
    /// Takes an option of `opentool serve`; its values must have no secret in them.
    pub(crate) fn from_option(key: &str, values: &[String], line: usize) -> Self {
        let shown: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
        let shown = match &*shown {
            [value] => value.clone(),
            values => format!("[{}]", values.join(", ")),
        };
        Setting { key: key.to_owned(), line, shown, values: values.to_vec(), is_harmless: is_harmless(key, values) }
    }

    /// Takes a key of a table, which may be one in another; its value must have no secret in it.
    pub(crate) fn from_table(table: &str, key: &str, shown: String, line: usize, is_harmless: bool) -> Self {
        Setting { key: format!("{table}.{key}"), line, shown, values: Vec::new(), is_harmless }
    }

    /// Takes a key whose value has no secret in it.
    pub(crate) fn from_value(key: &str, shown: String, line: usize, is_harmless: bool) -> Self {
        Setting { key: key.to_owned(), line, shown, values: Vec::new(), is_harmless }
    }

    /// Whether it can neither run nor expose anything, no matter who wrote it.
    pub(crate) fn is_harmless(&self) -> bool {
        self.is_harmless
    }

    /// The settings of a file in use that another text of it has no longer, where that needs trust: keys of callers, sources, and what
    /// takes more care of calls.
    pub(crate) fn lost<'a>(before: &'a [Setting], after: &[Setting]) -> Vec<&'a Setting> {
        before.iter().filter(|setting| setting.is_lost_in(after)).collect()
    }

    /// Whether a file without it must be trusted where it had it.
    pub(crate) fn is_missed(&self) -> bool {
        self.is_guard() || !self.is_harmless
    }

    /// Whether it only adds care, so that it needs no trust.
    fn is_guard(&self) -> bool {
        const GUARDS: [&str; 5] = ["needs-approval", "destructive", "assert-formats", "tool", "page.enabled"];
        GUARDS.iter().any(|guard| self.key == *guard || self.key.ends_with(&format!(".{guard}")))
    }

    fn is_lost_in(&self, after: &[Setting]) -> bool {
        match after.iter().find(|setting| setting.key == self.key) {
            None => self.is_missed(),
            Some(setting) if self.is_guard() && self.is_harmless => {
                let is_kept = |value: &String| setting.values.contains(value);
                setting.shown != self.shown && (self.values.is_empty() || !self.values.iter().all(is_kept))
            }
            // Another value is judged by itself.
            Some(_) => false,
        }
    }
}

/// What is not listed here needs a trusted file, so that a new option does until it was thought about.
fn is_harmless(key: &str, values: &[String]) -> bool {
    let all = |is_harmless: fn(&str) -> bool| values.iter().all(|value| is_harmless(value));
    match key {
        "port" | "prefix" | "tag" | "no-page" => true,
        "max-body" | "max-result" | "max-buffered" | "max-connections" | "max-calls" | "memory" | "threads" | "cpu" => {
            true
        }
        // Either way a library is as confined as without it.
        "workers" => true,
        "drain-delay" | "drain-timeout" | "half-close-timeout" | "timeout" => true,
        // More care is taken with such tools, never less.
        "destructive" | "needs-approval" | "assert-formats" => true,
        "approval" => all(|approver| approver == "deny"),
        "host" => all(is_loopback),
        "admin-addr" => all(|address| address.rsplit_once(':').is_some_and(|(host, _)| is_loopback(host))),
        "cors" | "enable-stop" | "insecure-no-auth" => all(|answer| answer == "false"),
        "isolation" => all(|place| place == "process"),
        SOURCES | TOOLS => all(|source| source == "demo"),
        _ => false,
    }
}

/// Whether a host is this machine and no other can reach it.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

/// The setting on one line, in TOML.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&format!("{} = {}", self.key, self.shown)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, values: &[&str]) -> Setting {
        let values: Vec<_> = values.iter().map(|&value| value.to_owned()).collect();
        Setting::from_option(key, &values, 1)
    }

    #[test]
    fn what_runs_or_exposes_something_is_not_harmless() {
        for (key, value) in [
            ("library", "./evil.so"),
            ("isolation", "none"),
            ("allow", "unsafe"),
            ("env", "LD_PRELOAD=./evil.so"),
            ("insecure-no-auth", "true"),
            ("host", "0.0.0.0"),
            ("host", "::"),
            ("host", "localhost.example"),
            ("admin-addr", "0.0.0.0:1"),
            ("api-key", "known"),
            ("api-keys-file", "known"),
            ("source-api-key", "known"),
            ("sources", "http://evil.example"),
            ("sources", "evil.json"),
            ("tools", "http://evil.example"),
            ("allowed-host", "evil.example"),
            ("allowed-origin", "https://evil.example"),
            ("cors", "true"),
            ("public-url", "http://evil.example"),
            ("enable-stop", "true"),
            ("read-only", "pay"),
            ("idempotent", "pay"),
            ("tls-key", "key.pem"),
            ("ca-file", "evil.pem"),
            ("approval", "caller"),
            ("source-api-key-env", "AWS_SECRET_ACCESS_KEY"),
            ("an-option-of-next-year", "1"),
        ] {
            assert!(!setting(key, &[value]).is_harmless(), "{key} = {value}");
            assert!(!setting(key, &["demo", value]).is_harmless(), "{key} = {value}");
        }
        for (key, value) in [
            ("port", "0"),
            ("host", "127.0.0.1"),
            ("host", "::1"),
            ("admin-addr", "[::1]:1"),
            ("admin-addr", "localhost:1"),
            ("sources", "demo"),
            ("isolation", "process"),
            ("insecure-no-auth", "false"),
            ("approval", "deny"),
            ("needs-approval", "pay"),
        ] {
            assert!(setting(key, &[value]).is_harmless(), "{key} = {value}");
        }
    }

    #[test]
    fn what_protects_and_is_gone_is_lost() {
        let before = [
            setting("api-keys-file", &["keys"]),
            setting("needs-approval", &["pay", "send"]),
            setting("port", &["1"]),
            setting("enable-stop", &["true"]),
        ];
        let lost = |after: &[Setting]| -> Vec<String> {
            Setting::lost(&before, after).into_iter().map(|setting| setting.key.clone()).collect()
        };
        assert_eq!(lost(&before), Vec::<String>::new());
        assert_eq!(lost(&[]), ["api-keys-file", "needs-approval", "enable-stop"]);
        let keys = setting("api-keys-file", &["keys"]);
        let stop = setting("enable-stop", &["false"]);
        assert_eq!(lost(&[keys.clone(), stop.clone(), setting("needs-approval", &["pay"])]), ["needs-approval"]);
        let more = setting("needs-approval", &["send", "pay", "add"]);
        assert_eq!(lost(&[keys, stop, more]), Vec::<String>::new(), "more care and fewer rights need no trust");
    }

    #[test]
    fn a_setting_is_shown_on_one_line() {
        assert_eq!(setting("allow", &["net", "a\u{1b}b"]).to_string(), r#"allow = ["net", "a\u{1b}b"]"#);
        assert_eq!(setting("host", &["0.0.0.0"]).to_string(), r#"host = "0.0.0.0""#);
    }
}
