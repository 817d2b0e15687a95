#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn decoded(encoding: Encoding, text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    encoding.decode(text, |byte| bytes.push(byte)).map(|()| bytes)
}

fn encoded(encoding: Encoding, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    encoding.encode(bytes, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn base64_is_the_one_of_rfc_4648() {
    let cases =
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
    for (bytes, text) in cases {
        assert_eq!(encoded(Encoding::Base64, bytes.as_bytes()), text);
        assert_eq!(decoded(Encoding::Base64, text).unwrap(), bytes.as_bytes());
        assert_eq!(decoded(Encoding::Base64, text.trim_end_matches('=')).unwrap(), bytes.as_bytes());
    }
}

#[test]
fn text_that_stands_for_no_bytes_is_refused() {
    for text in ["Z", "Zg=", "Zg===", "Zh==", "Zm9=v", "Zm9-", "Zm 9v", "===="] {
        assert_eq!(decoded(Encoding::Base64, text), None, "{text}");
    }
    for text in ["0", "0g", "é"] {
        assert_eq!(decoded(Encoding::Hex, text), None, "{text}");
    }
    assert_eq!(decoded(Encoding::Latin1, "€"), None);
}

#[test]
fn bytes_that_are_no_utf8_are_refused_by_their_place() {
    let mut out = Vec::new();
    assert_eq!(Encoding::Utf8.encode(b"caf\xe9", &mut out), Err(3));
    assert!(out.is_empty());
    assert_eq!(encoded(Encoding::Latin1, b"caf\xe9"), "café");
}

proptest! {
    #[test]
    fn any_bytes_survive_base64_hex_and_latin1(bytes: Vec<u8>) {
        for encoding in [Encoding::Base64, Encoding::Hex, Encoding::Latin1] {
            prop_assert_eq!(decoded(encoding, &encoded(encoding, &bytes)).unwrap(), bytes.clone());
        }
    }

    #[test]
    fn any_text_survives_utf8(text: String) {
        prop_assert_eq!(encoded(Encoding::Utf8, text.as_bytes()), text.clone());
        prop_assert_eq!(decoded(Encoding::Utf8, &text).unwrap(), text.as_bytes());
    }
}
