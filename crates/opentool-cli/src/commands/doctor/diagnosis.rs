//! What was found about one thing: [`Diagnosis`].

use serde::Serialize;

use crate::failure::Failure;

/// What was found, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Diagnosis {
    pub(super) area: &'static str,
    pub(super) name: String,
    #[serde(rename = "state")]
    pub(super) health: Health,
    pub(super) text: String,
    pub(super) next: Option<String>,
}

/// Whether something works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Ok,
    /// It is not there, and nothing here needs it.
    Missing,
    /// What is configured does not work.
    Failed,
}

impl Diagnosis {
    pub(super) fn ok(area: &'static str, name: impl Into<String>, text: impl Into<String>) -> Self {
        Diagnosis { area, name: name.into(), health: Health::Ok, text: text.into(), next: None }
    }

    pub(super) fn missing(
        area: &'static str,
        name: impl Into<String>,
        text: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Diagnosis { area, name: name.into(), health: Health::Missing, text: text.into(), next: Some(next.into()) }
    }

    pub(super) fn failed(
        area: &'static str,
        name: impl Into<String>,
        text: impl Into<String>,
        next: Option<String>,
    ) -> Self {
        Diagnosis { area, name: name.into(), health: Health::Failed, text: text.into(), next }
    }

    /// What a command would have failed with; `next` is what to do where the failure does not say.
    pub(super) fn failure(area: &'static str, name: impl Into<String>, failure: &Failure, next: &str) -> Self {
        Self::failed(area, name, failure.to_string(), failure.next_step().or_else(|| Some(next.to_owned())))
    }
}
