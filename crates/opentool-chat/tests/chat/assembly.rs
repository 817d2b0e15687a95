//! Streamed calls are put together by index, else by id, else by their order.

use opentool_chat::{Assembly, Delta, FinishReason, ToolCallDelta};
use proptest::prelude::*;

fn piece() -> ToolCallDelta {
    ToolCallDelta::new()
}

/// The calls that pieces make, as `id name arguments`.
fn calls(pieces: impl IntoIterator<Item = ToolCallDelta>) -> Vec<String> {
    let mut assembly = Assembly::new();
    pieces.into_iter().for_each(|piece| assembly.push(piece.into()));
    let response = assembly.finish();
    response.tool_calls().iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect()
}

#[test]
fn calls_interleaved_by_index_come_apart() {
    let assembled = calls([
        piece().with_index(1).with_id("b").with_name("two"),
        piece().with_index(0).with_id("a").with_name("one").with_arguments("{\"x\""),
        piece().with_index(1).with_arguments("{\"y\":"),
        piece().with_index(0).with_arguments(":1}"),
        piece().with_index(1).with_arguments("2}"),
    ]);
    assert_eq!(assembled, ["b two {\"y\":2}", "a one {\"x\":1}"]);
}

#[test]
fn pieces_without_an_index_belong_together_by_id_then_order() {
    let assembled = calls([
        piece().with_id("a").with_name("one").with_arguments("{\"x\""),
        piece().with_id("b").with_name("two").with_arguments("{\"y\""),
        piece().with_id("a").with_arguments(":1}"),
        piece().with_id("b").with_arguments(":2"),
        piece().with_arguments("}"),
    ]);
    assert_eq!(assembled, ["a one {\"x\":1}", "b two {\"y\":2}"]);
}

#[test]
fn calls_with_the_same_index_are_kept_apart() {
    let whole = |id: &str, name: &str| piece().with_index(0).with_id(id).with_name(name).with_arguments("{}");
    assert_eq!(calls([whole("a", "one"), whole("b", "one")]), ["a one {}", "b one {}"], "kept apart by id");
    assert_eq!(calls([whole("", "one"), whole("", "two")]), [" one {}", " two {}"], "kept apart by name");
    assert_eq!(calls([whole("", "one"), whole("", "one")]), [" one {}", " one {}"], "whole arguments are not added to");
    let pieces = calls([
        piece().with_index(0).with_id("a").with_name("one").with_arguments("{\"x\":1}"),
        piece().with_index(0).with_id("b").with_name("two"),
        piece().with_index(0).with_arguments("{\"y\":"),
        piece().with_index(0).with_arguments("2}"),
    ]);
    assert_eq!(pieces, ["a one {\"x\":1}", "b two {\"y\":2}"], "what follows belongs to the latest");
}

#[test]
fn a_repeated_name_or_id_begins_no_new_call() {
    let assembled = calls([
        piece().with_index(0).with_id("a").with_name("one").with_arguments("{\"x\""),
        piece().with_index(0).with_id("a").with_name("one").with_arguments(":1}"),
        piece().with_index(0).with_id("a").with_name("one").with_arguments(" "),
    ]);
    assert_eq!(assembled, ["a one {\"x\":1} "]);
    let fresh_ids = calls([
        piece().with_index(0).with_id("a").with_name("one").with_arguments("{\"x\""),
        piece().with_index(0).with_id("b").with_arguments(":1}"),
    ]);
    assert_eq!(fresh_ids, ["a one {\"x\":1}"], "a piece without a name begins no call");
}

#[test]
fn a_missing_finish_reason_follows_from_the_answer() {
    let finish = |deltas: Vec<Delta>| {
        let mut assembly = Assembly::new();
        deltas.into_iter().for_each(|delta| assembly.push(delta));
        assembly.finish().finish_reason().cloned()
    };
    assert_eq!(finish(vec![Delta::text("hi")]), Some(FinishReason::Stop));
    assert_eq!(finish(vec![piece().with_name("one").into()]), Some(FinishReason::ToolCalls));
    assert_eq!(finish(vec![Delta::Finish(FinishReason::Length)]), Some(FinishReason::Length));
}

#[test]
fn what_a_provider_wants_to_see_again_is_kept_under_its_name() {
    let mut assembly = Assembly::new();
    let data = |data: serde_json::Value| Delta::ProviderData { provider: "anthropic".to_owned(), data };
    assembly.push(data(serde_json::json!({ "signature": "abc" })));
    assembly.push(Delta::reasoning("Hm."));
    assembly.push(data(serde_json::json!({ "redacted": true })));
    let response = assembly.finish();
    let message = response.message().unwrap();
    assert_eq!(&*message.reasoning, "Hm.");
    assert_eq!(message.provider_data["anthropic"].to_string(), r#"{"signature":"abc","redacted":true}"#);
}

proptest! {
    /// Calls that are cut into pieces anywhere and interleaved in any order come back whole.
    #[test]
    fn pieces_in_any_interleaving_make_the_same_calls(
        texts in prop::collection::vec("\\{\"t\":\"[a-z{}\\[\\]é]{0,12}\"\\}", 1..5),
        order in prop::collection::vec(0usize..5, 0..80),
        by_index in any::<bool>(),
    ) {
        let mut rest: Vec<Vec<char>> = texts.iter().map(|text| text.chars().rev().collect()).collect();
        let named = |place: usize| {
            let piece = piece().with_id(format!("id_{place}"));
            if by_index { piece.with_index(place) } else { piece }
        };
        let mut pieces: Vec<_> = (0..texts.len()).map(|place| named(place).with_name("tool")).collect();
        let ends: Vec<usize> = texts.iter().enumerate().flat_map(|(place, text)| vec![place; text.len()]).collect();
        for place in order.into_iter().map(|place| place % texts.len()).chain(ends) {
            if let Some(next) = rest[place].pop() {
                let piece = named(place).with_arguments(next.to_string());
                pieces.push(piece);
            }
        }
        let expected: Vec<_> =
            texts.iter().enumerate().map(|(place, text)| format!("id_{place} tool {text}")).collect();
        prop_assert_eq!(calls(pieces), expected);
    }
}
