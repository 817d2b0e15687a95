//! How a source of tools says that they changed: [`ChangeSignal`] gives the signal, [`ToolChanges`] waits for it.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select_all;
use tokio::sync::watch;

/// Signals that the tools of a source changed, to everyone who waits.
///
/// ```
/// use opentool_core::ChangeSignal;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let signal = ChangeSignal::new();
/// let mut changes = signal.changes();
/// signal.send();
/// assert!(changes.changed().await);
/// drop(signal);
/// assert!(!changes.changed().await);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChangeSignal(Arc<watch::Sender<u64>>);

impl ChangeSignal {
    /// Makes a signal that nothing waits for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Signals a change; several that nothing has waited for in between are one.
    pub fn send(&self) {
        self.0.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Returns what waits for the changes from now on.
    #[must_use]
    pub fn changes(&self) -> ToolChanges {
        ToolChanges(vec![self.0.subscribe()])
    }
}

/// Waits for changes of the tools of one or several sources.
///
/// A clone has seen what the original has seen.
#[derive(Clone, Debug)]
pub struct ToolChanges(Vec<watch::Receiver<u64>>);

impl ToolChanges {
    /// Joins the signals of several sources; none where there are none.
    pub fn join(changes: impl IntoIterator<Item = Self>) -> Option<Self> {
        let receivers: Vec<_> = changes.into_iter().flat_map(|changes| changes.0).collect();
        (!receivers.is_empty()).then_some(Self(receivers))
    }

    /// Waits for the next change; false where there will be none, because every source is gone.
    pub async fn changed(&mut self) -> bool {
        while !self.0.is_empty() {
            let waiting = self.0.iter_mut().map(|receiver| Box::pin(receiver.changed()));
            let (changed, index, _) = pin!(select_all(waiting)).await;
            if changed.is_ok() {
                return true;
            }
            self.0.swap_remove(index);
        }
        false
    }
}
