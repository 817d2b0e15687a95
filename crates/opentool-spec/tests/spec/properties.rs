//! Properties of any text and any document.

use opentool_spec::check;
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    bodies,
    documents::{document, soup},
};

/// A text, and the same text damaged at one place.
fn damaged(value: &Value, pretty: bool, at: usize, what: &str) -> String {
    let mut text = if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() };
    let mut at = at % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text.insert_str(at, what);
    text
}

proptest! {
    // `PROPTEST_CASES=100000` runs more cases.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(data in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::document(&data);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        bodies::document(text.as_bytes());
    }

    #[test]
    fn any_json_of_the_words_of_the_specs_is_answered(value in soup(), pretty in any::<bool>()) {
        bodies::document(damaged(&value, pretty, 0, "").as_bytes());
    }

    #[test]
    fn any_document_is_checked_fixed_and_read(value in document(), pretty in any::<bool>()) {
        bodies::document(damaged(&value, pretty, 0, "").as_bytes());
    }

    #[test]
    fn any_damaged_document_is_answered(
        value in document(),
        pretty in any::<bool>(),
        at in any::<usize>(),
        what in prop::sample::select(&[",", "}", "]", "\"", "//c\n", "/*c*/", "\\", "e9", "\u{0}", "ü", "{", "[", ":", "'", "1"]),
    ) {
        bodies::document(damaged(&value, pretty, at, what).as_bytes());
    }

    #[test]
    fn cutting_a_document_anywhere_is_answered(value in document(), at in any::<usize>()) {
        let text = value.to_string();
        bodies::document(&text.as_bytes()[..at % (text.len() + 1)]);
    }

    #[test]
    fn the_same_text_gets_the_same_findings(value in document()) {
        let text = value.to_string();
        prop_assert_eq!(check(&text), check(&text));
    }
}
