//! The positional arguments of `opentool chat`: which name sources, and which one is the prompt.

use crate::{failure::Failure, source::Source, source_tables::NamedSources};

/// The word that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The positional arguments, by their meaning.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Positionals {
    pub(super) sources: Vec<String>,
    pub(super) prompt: Option<String>,
    /// Whether standard input belongs to the prompt.
    pub(super) reads_input: bool,
}

impl Positionals {
    /// Takes the last word for the prompt unless it names a source or the prompt was given otherwise.
    pub(super) fn parse(words: &[String], prompt: Option<&str>, named: &NamedSources) -> Result<Self, Failure> {
        let (words, reads_input) = match words.split_last() {
            Some((last, before)) if last == STANDARD_INPUT => (before, true),
            _ => (words, false),
        };
        let (sources, prompt) = match (words.split_last(), prompt) {
            (_, Some(prompt)) => (words, Some(prompt.to_owned())),
            (Some((last, before)), None) if !Source::is_named_by(last, named)? => (before, Some(last.clone())),
            (_, None) => (words, None),
        };
        for word in sources {
            if !Source::is_named_by(word, named)? {
                let near = named.near(word).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
                return Err(Failure::usage(format!(
                    "`{word}` is no source{near}: a source is `demo`, a URL, a file or a `[sources.NAME]` of opentool.toml; \
                     write the prompt as one word, in quotes, at the end"
                )));
            }
        }
        if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err(Failure::usage("the prompt is empty: give one, or leave it out for a conversation"));
        }
        Ok(Positionals { sources: sources.to_vec(), prompt, reads_input })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn words(words: &[&str], prompt: Option<&str>) -> Result<Positionals, String> {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        Positionals::parse(&words, prompt, &NamedSources::none()).map_err(|failure| failure.to_string())
    }

    fn expected(sources: &[&str], prompt: Option<&str>, reads_input: bool) -> Result<Positionals, String> {
        let sources = sources.iter().map(ToString::to_string).collect();
        Ok(Positionals { sources, prompt: prompt.map(str::to_owned), reads_input })
    }

    #[test]
    fn the_last_word_that_names_no_source_is_the_prompt() {
        assert_eq!(words(&[], None), expected(&[], None, false));
        assert_eq!(words(&["demo"], None), expected(&["demo"], None, false));
        assert_eq!(words(&["What time is it?"], None), expected(&[], Some("What time is it?"), false));
        assert_eq!(words(&["demo", "http://a", "hi"], None), expected(&["demo", "http://a"], Some("hi"), false));
        assert_eq!(words(&["demo"], Some("demo")), expected(&["demo"], Some("demo"), false));
        assert_eq!(words(&["demo", "Sum up:", "-"], None), expected(&["demo"], Some("Sum up:"), true));
        assert_eq!(words(&["-"], None), expected(&[], None, true));
    }

    #[test]
    fn a_word_that_is_neither_is_an_error() {
        let refused = words(&["what", "time"], None).unwrap_err();
        assert!(refused.starts_with("`what` is no source:"), "{refused}");
        assert!(words(&["hello"], Some("hi")).is_err());
        assert!(words(&[" "], None).is_err());
        assert!(words(&[], Some("")).is_err());
    }
}
