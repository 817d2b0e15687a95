//! Damaged streams: there is always an end, and an error is always the last item.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::server::{Reply, Server};
use super::support::{ALL, Wire, deltas};

/// Something that happens to a stream.
#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Drop(prop::sample::Index, u8),
    Repeat(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let token = prop::sample::select(vec![
        "\n",
        "\n\n",
        "\r",
        "data: ",
        "event: error\n",
        "{",
        "}",
        "]",
        "\"",
        "null",
        "[DONE]",
        "\\u12",
        "{\"error\":null}\n\n",
        "\u{feff}",
    ]);
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, length)| Damage::Drop(at, length)),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, length)| Damage::Repeat(at, length)),
        (any::<prop::sample::Index>(), token).prop_map(|(at, token)| Damage::Insert(at, token.into())),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn apply(damage: &Damage, body: &mut Vec<u8>) {
    let at = |index: &prop::sample::Index| index.index(body.len() + 1);
    match damage {
        Damage::Cut(index) => body.truncate(at(index)),
        Damage::Drop(index, length) => {
            let begin = at(index);
            body.drain(begin..(begin + usize::from(*length)).min(body.len()));
        }
        Damage::Repeat(index, length) => {
            let begin = at(index);
            let piece = body[begin..(begin + usize::from(*length)).min(body.len())].to_vec();
            body.splice(begin..begin, piece);
        }
        Damage::Insert(index, bytes) => {
            let begin = at(index);
            body.splice(begin..begin, bytes.iter().copied());
        }
    }
}

async fn survives(wire: Wire, body: &[u8], size: usize) {
    let server = Server::start([Reply::chunks(wire.media_type(), body.chunks(size))]).await;
    let asked = tokio::time::timeout(Duration::from_secs(60), async { deltas(&*wire.provider(&server.url())).await });
    let deltas = asked.await.expect("the stream has no end");
    let errors = deltas.iter().position(Result::is_err);
    assert!(errors.is_none_or(|first| first + 1 == deltas.len()), "{deltas:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 4).max(1)))]

    #[test]
    fn a_damaged_stream_ends_and_its_error_is_the_last_item(
        damages in prop::collection::vec(damage(), 1..6),
        size in 1_usize..400,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for wire in ALL {
            let calls = [("a", "add", json!({ "a": "東京" })), ("b", "now", json!({}))];
            let mut body = wire.streamed("Hmm", "Grüße", &calls).into_bytes();
            for damage in &damages {
                apply(damage, &mut body);
            }
            runtime.block_on(survives(wire, &body, size));
        }
    }
}
