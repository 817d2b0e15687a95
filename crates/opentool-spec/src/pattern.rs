//! Regular expressions in schemas: whether they can be used.
//!
//! They are those of JavaScript, matched in time that is linear in the text, so that there is no look-around and there
//! are no back-references.

use jsonschema_regex::to_rust_regex;
use regex::Regex;

/// Why a pattern cannot be used; none where it can.
pub(crate) fn fault(pattern: &str) -> Option<String> {
    let Ok(translated) = to_rust_regex(pattern) else {
        return Some(syntax_fault(pattern).unwrap_or_else(|| "it is not a regular expression".to_owned()));
    };
    match Regex::new(&translated) {
        Ok(_) => None,
        Err(regex::Error::CompiledTooBig(_)) => Some("it needs too much memory".to_owned()),
        Err(_) => Some(syntax_fault(&translated).unwrap_or_else(|| "it is not a regular expression".to_owned())),
    }
}

/// What is wrong with the text of a pattern; costs no more than reading it.
pub(crate) fn syntax_fault(pattern: &str) -> Option<String> {
    match regex_syntax::parse(pattern) {
        Ok(_) => None,
        Err(regex_syntax::Error::Parse(error)) => Some(error.kind().to_string()),
        Err(regex_syntax::Error::Translate(error)) => Some(error.kind().to_string()),
        Err(_) => Some("it is not a regular expression".to_owned()),
    }
}
