//! Long texts in messages.

use std::borrow::Cow;

/// A text, or its beginning with an ellipsis where it has more than `limit` characters.
#[must_use]
pub fn excerpt(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
