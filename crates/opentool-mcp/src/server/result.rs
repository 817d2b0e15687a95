//! What every result carries: [`Envelope`].

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::content::SERVER_INFO;
use super::json_text::JsonText;
use super::revision::Revision;

/// The key of the subscription that a message belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The members of every result of the stateless revisions; nothing in the older ones.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ServerMeta<'a>>,
}

impl<'a> Envelope<'a> {
    /// Makes the members of a complete result.
    pub(crate) fn complete(revision: Revision, server: &'a RawValue) -> Self {
        let stateless = revision.is_stateless();
        Self {
            result_type: stateless.then_some("complete"),
            meta: stateless.then_some(ServerMeta { server: Some(server), subscription: None }),
        }
    }

    /// Makes the members of a result that asks for input.
    pub(crate) fn input_required(server: &'a RawValue) -> Self {
        let meta = ServerMeta { server: Some(server), subscription: None };
        Self { result_type: Some("input_required"), meta: Some(meta) }
    }

    /// Makes the members of the result that ends a subscription.
    pub(crate) fn end_of_subscription(id: JsonText<'a>) -> Self {
        Self { result_type: Some("complete"), meta: Some(ServerMeta::of_subscription(id)) }
    }
}

/// The metadata of a message.
#[derive(Clone, Copy)]
pub(crate) struct ServerMeta<'a> {
    server: Option<&'a RawValue>,
    subscription: Option<JsonText<'a>>,
}

impl<'a> ServerMeta<'a> {
    pub(crate) fn of_subscription(id: JsonText<'a>) -> Self {
        Self { server: None, subscription: Some(id) }
    }
}

impl Serialize for ServerMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(server) = self.server {
            map.serialize_entry(SERVER_INFO, server)?;
        }
        if let Some(subscription) = self.subscription {
            map.serialize_entry(SUBSCRIPTION, &subscription)?;
        }
        map.end()
    }
}
