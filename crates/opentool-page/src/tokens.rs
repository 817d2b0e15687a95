//! Tokens that are good for one sign-in: [`PageTokens`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::secret::Secret;

/// How many tokens may wait to be used; a further one replaces the oldest.
const MAX_OPEN: usize = 4;

/// Makes the tokens with which people sign in to a [page](crate::Page).
///
/// A token has 256 random bits, is good for one sign-in and belongs into the fragment of the page's address, `/ui/#token=…`, which no
/// browser sends to a server. Show it to the person at the terminal only: it lets its reader call the tools.
#[derive(Clone)]
pub struct PageTokens(Arc<TokenStore>);

#[derive(Default)]
struct TokenStore {
    open: Mutex<VecDeque<Secret>>,
    used: Notify,
}

impl PageTokens {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Makes a token; none where the system has no random bytes. At most four are good at a time, the newest.
    #[must_use]
    pub fn issue(&self) -> Option<String> {
        let token = Secret::new()?;
        let text = token.expose().to_owned();
        let mut open = self.lock();
        if open.len() == MAX_OPEN {
            open.pop_front();
        }
        open.push_back(token);
        Some(text)
    }

    /// Waits until a token is used, for instance to issue the next one. A use while nothing waits is remembered.
    pub async fn used(&self) {
        self.0.used.notified().await;
    }

    /// Takes a token: says whether it was good, and makes it good no more.
    pub(crate) fn take(&self, given: &str) -> bool {
        let mut open = self.lock();
        // Every token is compared, so that the time does not reveal which one came close.
        let mut found = None;
        for (index, token) in open.iter().enumerate() {
            if token.matches(given) {
                found = Some(index);
            }
        }
        let Some(index) = found else { return false };
        open.remove(index);
        drop(open);
        self.0.used.notify_one();
        true
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Secret>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PageTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageTokens").field("open", &self.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_token_is_good_once_and_only_the_newest_are() {
        let tokens = PageTokens::new();
        let issued: Vec<String> = (0..MAX_OPEN + 1).map(|_| tokens.issue().unwrap()).collect();
        assert!(!tokens.take(&issued[0]), "it was replaced");
        assert!(tokens.take(&issued[2]) && !tokens.take(&issued[2]));
        assert!(!tokens.take("") && tokens.take(&issued[MAX_OPEN]));
    }
}
