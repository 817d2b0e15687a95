//! Secrets that were found, taken out of every other text.

use std::collections::BTreeSet;

use opentool_core::spec::json::quoted;

use super::mark::REDACTED;
use crate::json_text::{MAX_LAYERS, Part, map_texts};

/// What is shorter stands in too many texts that have nothing to do with it.
const SHORTEST: usize = 4;

/// How many characters of a longer secret are enough to know it by: messages may quote its beginning.
const BEGINNING: usize = 8;

/// The secrets of a record, longest first, so that one within another does not spoil it.
#[derive(Default)]
pub(super) struct Secrets {
    /// What the operator gave counts whatever its length.
    given: BTreeSet<String>,
    texts: BTreeSet<String>,
    numbers: BTreeSet<String>,
}

impl Secrets {
    pub(super) fn new(given: impl IntoIterator<Item = String>) -> Self {
        Self { given: given.into_iter().collect(), ..Self::default() }
    }

    pub(super) fn add(&mut self, text: &str) {
        if text.chars().count() >= SHORTEST && text != REDACTED {
            self.texts.insert(text.to_owned());
            // As it stands within JSON that stands within a text.
            let escaped = quoted(text);
            self.texts.insert(escaped[1..escaped.len() - 1].to_owned());
        }
    }

    pub(super) fn add_number(&mut self, number: &str) {
        if number.bytes().filter(u8::is_ascii_digit).count() >= SHORTEST {
            self.numbers.insert(number.to_owned());
            self.texts.insert(number.to_owned());
        }
    }

    fn is_empty(&self) -> bool {
        self.given.is_empty() && self.texts.is_empty() && self.numbers.is_empty()
    }

    /// Returns a text without them; none where none is in it.
    pub(super) fn out_of(&self, text: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        let mut all: Vec<_> = self.given.iter().chain(&self.texts).collect();
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in all {
            let now = changed.as_deref().unwrap_or(text);
            if let Some(without) = without(now, secret) {
                changed = Some(without);
            }
        }
        changed
    }

    /// Returns a JSON text without them.
    pub(super) fn out_of_json(&self, json: &str) -> String {
        if self.is_empty() {
            return json.to_owned();
        }
        map_texts(json, MAX_LAYERS, &mut |text, part| match part {
            Part::Text => self.out_of(text),
            Part::Word => self.numbers.contains(text).then(|| "0".to_owned()),
        })
    }
}

/// Takes a secret, or the beginning of it, out of a text; none where it is not there.
fn without(text: &str, secret: &str) -> Option<String> {
    let beginning = secret.char_indices().nth(BEGINNING).map_or(secret, |(end, _)| &secret[..end]);
    let mut rest = text;
    let mut out: Option<String> = None;
    while let Some(at) = rest.find(beginning) {
        let found = &rest[at..];
        let same = found.char_indices().zip(secret.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, a), _)| at + a.len_utf8());
        let out = out.get_or_insert_default();
        out.push_str(&rest[..at]);
        out.push_str(REDACTED);
        rest = &found[end..];
    }
    out.map(|out| out + rest)
}
