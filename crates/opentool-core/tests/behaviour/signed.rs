//! States as signed texts: what was changed, borrowed or kept too long is refused.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::*;

const HOUR: Duration = Duration::from_secs(3600);

fn signer() -> StateSigner {
    StateSigner::new([7; 32]).unwrap()
}

/// A turn with a call that waits for its approval.
async fn waiting() -> Turn {
    let tools = Toolbox::from_tools([FakeTool::new("pay")
        .with_metadata(ToolMetadata::new().with_destructive(true))
        .answers("paid")])
    .unwrap();
    let executor = Executor::builder().approval(Ask::later().for_destructive(true)).build();
    let mut turn = Turn::new();
    let calls = vec![ToolCall::new("call_1", "pay", r#"{"amount":10}"#)];
    executor.run(&tools, calls, &mut turn, &ToolContext::new()).finish().await;
    assert_eq!(turn.pending().count(), 1);
    turn
}

#[tokio::test]
async fn a_signed_turn_is_read_as_it_was_written() {
    let turn = waiting().await;
    let text = signer().sign(&turn, "ann/7", HOUR).unwrap();
    let read: Turn = signer().verify(&text, "ann/7").unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&turn).unwrap());
    assert_eq!(&*read.pending().next().unwrap().id, "call_1");
}

#[derive(serde::Deserialize, serde::Serialize, Debug, PartialEq)]
struct Note(String);

impl SignableState for Note {
    const KIND: &'static str = "test.note";
}

/// Computed with Python's `hmac`: texts that were signed before are read by every later version.
#[test]
fn a_signature_is_the_hmac_sha_256_of_the_parts_and_their_lengths() {
    let texts = [
        ([7; 32].to_vec(), "9b122867df23d73feb72e619c8a2c0d02fff6d187ee9f034a39e554538b9f25f"),
        ([7; 100].to_vec(), "dc151893ef5564d0bb927b10183e3f7d7f33af80d365264dbc96821d71646de1"),
    ];
    for (key, signature) in texts {
        let signer = StateSigner::new(key).unwrap();
        let text = format!(r#"opentool-signed-1:4102444800:{signature}:"hello""#);
        assert_eq!(signer.verify::<Note>(&text, "ann/7").unwrap(), Note("hello".to_owned()));
    }
}

#[tokio::test]
async fn a_signed_turn_that_was_changed_is_refused() {
    let text = signer().sign(&waiting().await, "ann/7", HOUR).unwrap();
    let approved = text.replace(r#"{"pending":null}"#, r#"{"pending":"approve"}"#);
    let dearer = text.replace(r#"\"amount\":10"#, r#"\"amount\":99"#);
    assert!(approved != text && dearer != text, "{text}");
    for changed in [&approved, &dearer] {
        let error = signer().verify::<Turn>(changed, "ann/7").unwrap_err();
        assert!(matches!(error, SignedStateError::Forged), "{error}");
    }
    // Any other byte, missing or changed, the time of expiry and the signature among them.
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        assert!(signer().verify::<Turn>(&changed, "ann/7").is_err(), "{changed}");
        assert!(signer().verify::<Turn>(&text[..at], "ann/7").is_err(), "{at}");
    }
    assert!(signer().verify::<Turn>(&format!("{text} "), "ann/7").is_err());
    let unsigned = serde_json::to_string(&Turn::new()).unwrap();
    assert!(matches!(signer().verify::<Turn>(&unsigned, "ann/7"), Err(SignedStateError::Malformed)));
}

#[test]
fn a_signed_state_is_bound_to_its_owner_its_kind_and_its_key() {
    /// A state of the application, which has the same JSON.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    struct Own(Turn);

    impl SignableState for Own {
        const KIND: &'static str = "own";
    }

    let text = signer().sign(&Turn::new(), "ann/7", HOUR).unwrap();
    for other in ["bob/7", "ann/8", "ann/7 ", ""] {
        assert!(matches!(signer().verify::<Turn>(&text, other), Err(SignedStateError::Forged)), "{other}");
    }
    assert!(matches!(signer().verify::<Own>(&text, "ann/7"), Err(SignedStateError::Forged)));
    let other = StateSigner::new([8; 32]).unwrap();
    assert!(matches!(other.verify::<Turn>(&text, "ann/7"), Err(SignedStateError::Forged)));
    let renewed = other.with_old_key([7; 32]).unwrap();
    assert!(renewed.verify::<Turn>(&text, "ann/7").is_ok(), "the key of before is still accepted");
    let text = renewed.sign(&Turn::new(), "ann/7", HOUR).unwrap();
    assert!(signer().verify::<Turn>(&text, "ann/7").is_err(), "and signs no longer");
}

#[test]
fn a_signed_state_expires() {
    let text = signer().sign(&Turn::new(), "ann/7", Duration::ZERO).unwrap();
    assert!(matches!(signer().verify::<Turn>(&text, "ann/7"), Err(SignedStateError::Expired)));
    let text = signer().sign(&Turn::new(), "ann/7", Duration::MAX).unwrap();
    assert!(signer().verify::<Turn>(&text, "ann/7").is_ok());
}

#[test]
fn a_short_key_signs_nothing_and_no_key_is_shown() {
    for length in [0, 8, 31] {
        let error = StateSigner::new(vec![7; length]).unwrap_err();
        assert_eq!(error.to_string(), format!("a key to sign with needs at least 32 bytes, this one has {length}"));
    }
    let shown = format!("{:?}", StateSigner::new(b"planted-secret-planted-secret-32").unwrap());
    assert_eq!(shown, "StateSigner { .. }");
}
