//! Counting in texts, which language models are bad at.

use std::collections::HashMap;

use opentool::tool;
use schemars::JsonSchema;
use serde::Serialize;

/// What a text consists of.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Statistics {
    /// Characters, white space included.
    characters: usize,
    /// Bytes in UTF-8.
    bytes: usize,
    /// Words: whatever stands between white space and has a letter or digit.
    words: usize,
    /// Lines, empty ones included.
    lines: usize,
    /// Sentences: whatever ends with `.`, `!`, `?` or their full-width forms.
    sentences: usize,
    /// The longest word, without the punctuation around it.
    longest_word: Option<String>,
}

/// How often a word occurs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Frequency {
    /// The word in lower case.
    word: String,
    /// How often it occurs.
    count: usize,
}

/// Count the characters, words, lines and sentences of a text.
#[tool(read_only, idempotent)]
pub(super) fn text_statistics(
    /// The text.
    text: &str,
) -> Statistics {
    Statistics {
        characters: text.chars().count(),
        bytes: text.len(),
        words: words(text).count(),
        lines: text.lines().count(),
        sentences: sentences(text),
        // Of several that are equally long, the first.
        longest_word: words(text).rev().max_by_key(|word| word.chars().count()).map(str::to_owned),
    }
}

/// List the words of a text that occur most often, the most frequent first.
#[tool(read_only, idempotent, output_name = "words")]
pub(super) fn word_frequency(
    /// The text.
    text: &str,
    /// How many words to list at most.
    #[param(default = 10)]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
) -> Vec<Frequency> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in words(text) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut frequencies: Vec<_> = counts.into_iter().map(|(word, count)| Frequency { word, count }).collect();
    frequencies.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.word.cmp(&b.word)));
    frequencies.truncate(limit);
    frequencies
}

fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

fn sentences(text: &str) -> usize {
    let ends = |char| matches!(char, '.' | '!' | '?' | '…' | '。' | '！' | '？');
    let mut count = 0;
    let mut inside = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char.is_alphanumeric() {
            inside = true;
        // A full stop in front of a letter or digit belongs to a number or a name: `3.14`, `example.org`.
        } else if inside && ends(char) && !(char == '.' && chars.peek().is_some_and(|next| next.is_alphanumeric())) {
            count += 1;
            inside = false;
        }
    }
    count + usize::from(inside)
}

#[cfg(test)]
mod tests {
    use opentool::{ErrorKind, testing::Probe};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_text_is_counted() {
        let text = "Pi is 3.14, isn't it?\nYes! – see example.org\n";
        let probe = Probe::new(text_statistics::tool());
        probe.call("text_statistics", json!({ "text": text })).await.assert_json(json!({
            "characters": 45, "bytes": 47, "words": 8, "lines": 2, "sentences": 3, "longest_word": "example.org",
        }));
    }

    #[tokio::test]
    async fn an_empty_text_has_nothing_in_it() {
        let probe = Probe::new(text_statistics::tool());
        probe.call("text_statistics", json!({ "text": "" })).await.assert_json(json!({
            "characters": 0, "bytes": 0, "words": 0, "lines": 0, "sentences": 0, "longest_word": null,
        }));
    }

    #[tokio::test]
    async fn frequent_words_come_first_and_equal_ones_by_the_alphabet() {
        let probe = Probe::new(word_frequency::tool());
        let text = "To be, or not to be: that is the question.";
        probe.call("word_frequency", json!({ "text": text, "limit": 3 })).await.assert_json(json!([
            { "word": "be", "count": 2 }, { "word": "to", "count": 2 }, { "word": "is", "count": 1 },
        ]));
        probe
            .call("word_frequency", json!({ "text": text, "limit": 0 }))
            .await
            .assert_error(ErrorKind::InvalidArguments);
    }
}
