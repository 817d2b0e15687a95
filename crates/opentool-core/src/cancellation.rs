//! The signal that stops a call: [`Cancellation`].

use tokio_util::sync::CancellationToken;

/// A signal that is given once and reaches all clones and children of it.
///
/// ```
/// use opentool_core::Cancellation;
///
/// let request = Cancellation::new();
/// let call = request.child();
/// request.cancel();
/// assert!(call.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// Makes a signal that has not been given.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a signal that is given with this one, or on its own without affecting this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Gives the signal.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Says whether the signal was given.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the signal is given.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Waits until the signal is given, in a future that borrows nothing.
    pub fn cancelled_owned(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.clone().cancelled_owned()
    }

    /// Runs a future until it is done or the signal is given, whichever comes first.
    pub async fn guard<F: Future>(&self, future: F) -> Option<F::Output> {
        self.0.run_until_cancelled(future).await
    }
}
