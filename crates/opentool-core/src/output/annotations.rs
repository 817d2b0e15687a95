//! What a tool says about a part of its output: [`Annotations`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// For whom a part is and how much it matters, in the words of MCP: an open JSON object.
///
/// Members that this type has no method for are kept, so that annotations pass through unchanged.
///
/// ```
/// use opentool_core::{Annotations, Part};
///
/// let annotations = Annotations::new().with_audience(["user"]).with_priority(0.8);
/// let part = Part::text("12 degrees").with_annotations(annotations);
/// assert_eq!(part.annotations().unwrap().audience().collect::<Vec<_>>(), ["user"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Annotations(Map<String, Value>);

impl Annotations {
    /// Makes annotations that say nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets for whom the part is: `user`, `assistant`.
    #[must_use]
    pub fn with_audience<A: Into<String>>(self, audience: impl IntoIterator<Item = A>) -> Self {
        let audience: Vec<String> = audience.into_iter().map(Into::into).collect();
        self.with("audience", audience)
    }

    /// Sets how much the part matters, from 0 (can be left out) to 1 (is needed).
    #[must_use]
    pub fn with_priority(self, priority: f64) -> Self {
        self.with("priority", priority)
    }

    /// Sets when the part was last changed, as an ISO 8601 text.
    #[must_use]
    pub fn with_last_modified(self, time: impl Into<String>) -> Self {
        self.with("lastModified", time.into())
    }

    /// Sets any member.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Returns for whom the part is.
    pub fn audience(&self) -> impl Iterator<Item = &str> {
        self.0.get("audience").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns how much the part matters, from 0 to 1.
    #[must_use]
    pub fn priority(&self) -> Option<f64> {
        self.0.get("priority")?.as_f64()
    }

    /// Returns when the part was last changed.
    #[must_use]
    pub fn last_modified(&self) -> Option<&str> {
        self.0.get("lastModified")?.as_str()
    }

    /// Returns any member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }
}

impl From<Map<String, Value>> for Annotations {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}
