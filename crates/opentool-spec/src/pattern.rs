//! Regular expressions in schemas: whether they can be used.
//!
//! They are those of JavaScript, matched in time that is linear in the text, so that there is no look-around and there
//! are no back-references.

use jsonschema_regex::to_rust_regex;
use regex::RegexBuilder;

/// How large the pattern of a value may be when it is compiled, in bytes.
pub(crate) const OF_VALUES: usize = 4 << 20;
/// How large a pattern of names, under `patternProperties`, may be.
pub(crate) const OF_NAMES: usize = 128 << 10;

/// Why a pattern cannot be used; none where it can. It may be as large as `limit` when it is compiled.
pub(crate) fn fault(pattern: &str, limit: usize) -> Option<String> {
    let Ok(translated) = to_rust_regex(pattern) else {
        return Some(syntax_fault(pattern).unwrap_or_else(|| "it is not a regular expression".to_owned()));
    };
    match RegexBuilder::new(&translated).size_limit(limit).build() {
        Ok(_) => None,
        Err(regex::Error::CompiledTooBig(_)) => {
            Some("it is too large: repeat less in it, or state lengths with `minLength` and `maxLength`".to_owned())
        }
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
