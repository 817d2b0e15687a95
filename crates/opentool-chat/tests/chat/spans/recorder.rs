//! Spans and events of a turn.

use opentool_core::testing::{RecordedSpan, SpanRecorder};

/// What a scene left behind.
#[derive(Debug)]
pub(super) struct Recording {
    /// In the order in which they were closed.
    pub(super) spans: Vec<RecordedSpan>,
    pub(super) events: Vec<RecordedSpan>,
}

impl Recording {
    /// Records a scene, which is played twice.
    pub(super) async fn new<F: Future<Output = ()>>(scene: impl Fn() -> F) -> Self {
        let recorder = SpanRecorder::start(scene()).await;
        scene().await;
        let (spans, events) = recorder.finish();
        Self { spans, events }
    }

    /// The names of all spans, each behind the name of its parent, in alphabetical order.
    pub(super) fn tree(&self) -> Vec<String> {
        let path = |span: &RecordedSpan| match span.parent() {
            Some(parent) => format!("{} > {}", parent.name(), span.name()),
            None => span.name().to_owned(),
        };
        let mut tree: Vec<_> = self.spans.iter().map(path).collect();
        tree.sort();
        tree
    }

    /// All spans of a name, in the order in which they were closed.
    pub(super) fn named(&self, name: &str) -> Vec<&RecordedSpan> {
        self.spans.iter().filter(|span| span.name() == name).collect()
    }

    /// The only span of a name.
    pub(super) fn only(&self, name: &str) -> &RecordedSpan {
        let named = self.named(name);
        assert_eq!(named.len(), 1, "{name} in {:?}", self.tree());
        named[0]
    }
}
