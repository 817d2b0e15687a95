//! What comments say besides what they describe: who frees, what may be NULL, what a result counts.

use crate::comments::Comment;

/// The comment about a function, asked for facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'c> {
    comment: Option<&'c Comment>,
}

/// What a function returns where it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Success {
    Zero,
    One,
    /// Anything but 0.
    NotZero,
}

/// Whether NULL may be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayBeNull {
    Yes,
    No,
}

impl<'c> Evidence<'c> {
    pub(crate) fn new(comment: Option<&'c Comment>) -> Self {
        Self { comment }
    }

    /// The whole comment of its own, in lower case; what another function's comment says is no evidence.
    fn text(self) -> String {
        self.comment.filter(|comment| !comment.is_shared).map(|comment| comment.full.to_lowercase()).unwrap_or_default()
    }

    /// What is said of NULL for a parameter.
    pub(crate) fn null(self, parameter: &str) -> Option<MayBeNull> {
        let comment = self.comment?;
        let said = comment.parameters.get(parameter).map(|said| said.text.as_str()).unwrap_or_default();
        if let Some(found) = null_in(said) {
            return Some(found);
        }
        if comment.is_shared {
            return None;
        }
        sentences(&comment.full).filter(|sentence| has_word(sentence, parameter)).find_map(null_in)
    }

    /// Whether the result counts what was written: "@return the number of bytes written".
    pub(crate) fn returns_length(self) -> bool {
        let Some(comment) = self.comment.filter(|comment| !comment.is_shared) else { return false };
        let returns = comment.returns.as_deref().unwrap_or_default().to_lowercase();
        let counts = |text: &str| {
            let amount = [
                "number of",
                "size of",
                "size in bytes",
                "nb bytes",
                "nb of bytes",
                "length of",
                "bytes written",
                "bytes read",
            ]
            .iter()
            .any(|words| text.contains(words));
            let written = [
                "written",
                "wrote",
                "compressed",
                "decompressed",
                "decoded",
                "encoded",
                "read",
                "copied",
                "stored",
                "generated",
                "regenerated",
                "produced",
            ]
            .iter()
            .any(|word| text.contains(word));
            amount && written
        };
        if counts(&returns) {
            return true;
        }
        sentences(&comment.full).any(|sentence| {
            let lower = sentence.to_lowercase();
            lower.contains("return") && counts(&lower)
        })
    }

    /// What the comment says that success is; `number` knows constants.
    pub(crate) fn success(self, number: impl Fn(&str) -> Option<i128>) -> Option<Success> {
        let comment = self.comment.filter(|comment| !comment.is_shared)?;
        let said = format!("{} {}", comment.returns.as_deref().unwrap_or_default(), comment.full).to_lowercase();
        let said = said.replace("@c ", "").replace("\\c ", "");
        let has = |all: &[&str]| all.iter().any(|words| said.contains(words));
        if has(&["nonzero on success", "non-zero on success", "nonzero if succe", "true on success", "true if succe"]) {
            return Some(Success::NotZero);
        }
        if has(&[
            "1 on success",
            "1 if succe",
            "1 for success",
            "1 if the function succe",
            "1 upon success",
            "1 when succe",
        ]) {
            return Some(Success::One);
        }
        if has(&[
            "0 on success",
            "0 if succe",
            "0 for success",
            "zero on success",
            "zero if succe",
            "0 if the function succe",
            "0 upon success",
            "0 when succe",
        ]) {
            return Some(Success::Zero);
        }
        let is_fine = |name: &&str| name.ends_with("_OK") || name.ends_with("_SUCCESS");
        let fine = comment.full.split(|char: char| !char.is_alphanumeric() && char != '_').find(is_fine)?;
        (number(fine) == Some(0)).then_some(Success::Zero)
    }

    /// Whether the comment speaks of bytes rather than text.
    pub(crate) fn speaks_of_bytes(self) -> bool {
        let text = self.text();
        ["binary", " bytes from buffer", "compress", "encrypt", "octets", "raw bytes", "raw data"]
            .iter()
            .any(|words| text.contains(words))
    }

    /// Whether the comment speaks of text.
    pub(crate) fn speaks_of_text(self, parameter: &str) -> bool {
        let about = |text: &str| {
            let lower = text.to_lowercase();
            [
                "string",
                "text",
                "utf-8",
                "utf8",
                "nul-terminated",
                "null-terminated",
                "null terminated",
                "zero-terminated",
                "characters",
            ]
            .iter()
            .any(|words| lower.contains(words))
        };
        let Some(comment) = self.comment else { return false };
        comment.parameters.get(parameter).is_some_and(|said| about(&said.text)) || about(&self.text())
    }

    /// Whether what is passed must outlive the call.
    pub(crate) fn must_outlive(self) -> bool {
        let text = self.text();
        [
            "must remain",
            "must stay",
            "must outlive",
            "must not be freed",
            "must be kept",
            "remain valid",
            "remain available",
            "remain accessible",
            "not copied",
            "by reference",
            "must not be modified",
            "should not be freed",
        ]
        .iter()
        .any(|words| text.contains(words))
    }

    /// Whether the comment names a function.
    pub(crate) fn names(self, function: &str) -> bool {
        self.comment.is_some_and(|comment| has_word(&comment.full, function))
    }

    /// Whether the comment has one of some words, which are in lower case.
    pub(crate) fn has_any(self, words: &[&str]) -> bool {
        let text = self.text();
        words.iter().any(|word| text.contains(word))
    }

    /// Every name in the comment that looks like a constant.
    pub(crate) fn constants(self) -> Vec<&'c str> {
        let Some(comment) = self.comment else { return Vec::new() };
        let is_part = |char: char| char.is_alphanumeric() || char == '_';
        let names = comment.full.split(|char: char| !is_part(char)).filter(|word| {
            word.len() > 3
                && word.contains('_')
                && word.chars().all(|char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_')
        });
        let mut seen = Vec::new();
        for name in names {
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        seen
    }
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator(['.', ';', '\n']).filter(|sentence| !sentence.trim().is_empty())
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// What a sentence says of NULL.
fn null_in(sentence: &str) -> Option<MayBeNull> {
    let plain = ["@c ", "\\c ", "@p ", "\\p ", "@a ", "\\a "]
        .iter()
        .fold(sentence.to_lowercase(), |text, mark| text.replace(mark, " "));
    let lower = plain.replace(['`', '\'', '"', '@', '#', '%', '(', ')', ','], " ");
    let lower = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    if !lower.contains("null") {
        return None;
    }
    let refuses = [
        "must not be null",
        "cannot be null",
        "can not be null",
        "can't be null",
        "may not be null",
        "should not be null",
        "not null",
        "non-null",
        "never null",
        "null is not allowed",
        "mustn't be null",
    ];
    if refuses.iter().any(|words| lower.contains(words)) {
        return Some(MayBeNull::No);
    }
    let permits = [
        "may be null",
        "can be null",
        "or null",
        "if null",
        "is null",
        "pass null",
        "be null",
        "null for",
        "null if",
        "null to",
        "may also be null",
        "null is allowed",
        "null means",
        "set to null",
        "optional",
    ];
    // "A NULL-terminated string" and "returns NULL" are about something else.
    let about_results = lower.contains("return") && !lower.contains("may be null") && !lower.contains("can be null");
    (!about_results && permits.iter().any(|words| lower.contains(words))).then_some(MayBeNull::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(text: &str) -> Comment {
        Comment { full: text.to_owned(), text: text.to_owned(), ..Comment::default() }
    }

    #[test]
    fn comments_say_what_may_be_null() {
        let comment = about(
            "Opens a thing. The `context` may be NULL. If name is NULL, a default is used; key must not be NULL. The unused one should be set to NULL",
        );
        let evidence = Evidence::new(Some(&comment));
        assert_eq!(evidence.null("context"), Some(MayBeNull::Yes));
        assert_eq!(evidence.null("name"), Some(MayBeNull::Yes));
        assert_eq!(evidence.null("key"), Some(MayBeNull::No));
        assert_eq!(evidence.null("unused"), Some(MayBeNull::Yes));
        assert_eq!(evidence.null("other"), None);
        let shared = Comment { is_shared: true, ..comment };
        assert_eq!(Evidence::new(Some(&shared)).null("context"), None);
    }

    #[test]
    fn comments_say_that_a_result_counts() {
        let mut comment = about("Compresses.");
        comment.returns = Some("the number of bytes written into buffer 'dst'".to_owned());
        assert!(Evidence::new(Some(&comment)).returns_length());
        let comment = about("Reads data. gzread returns the number of uncompressed bytes actually read");
        assert!(Evidence::new(Some(&comment)).returns_length());
        assert!(!Evidence::new(Some(&about("Returns 0 for success."))).returns_length());
    }
}
