//! Secrets in a JSON text, by their names and by schemas.

use opentool_core::spec::json::quoted;
use serde_json::Number;

use super::mark::REDACTED;
use super::rules::Redaction;
use super::schema::Nodes;
use super::scrub::Secrets;
use crate::json_text::{Layer, MAX_LAYERS, is_nested, layer, write_array, write_object};

/// A walk through a text, which keeps what it takes out.
pub(super) struct Walk<'a> {
    redaction: &'a Redaction,
    secrets: &'a mut Secrets,
}

impl<'a> Walk<'a> {
    pub(super) fn new(redaction: &'a Redaction, secrets: &'a mut Secrets) -> Self {
        Self { redaction, secrets }
    }

    pub(super) fn json(&mut self, json: &str) -> String {
        self.value(json, &Nodes::default(), MAX_LAYERS)
    }

    /// The arguments of a call, which a model wrote: they need be no JSON.
    pub(super) fn arguments(&mut self, tool: &str, text: &str) -> String {
        let redaction = self.redaction;
        if is_nested(text) {
            let schema = redaction.schemas(tool).map(|schemas| &schemas.input);
            return self.value(text, &Nodes::root(schema), MAX_LAYERS);
        }
        if redaction.may_hold_secret(tool, text) {
            self.secrets.add(text);
            return REDACTED.to_owned();
        }
        text.to_owned()
    }

    /// A result of a tool, as JSON.
    pub(super) fn result(&mut self, tool: &str, json: &str) -> String {
        let redaction = self.redaction;
        let schema = redaction.schemas(tool).and_then(|schemas| schemas.output.as_ref());
        self.value(json, &Nodes::root(schema), MAX_LAYERS)
    }

    fn value(&mut self, json: &str, nodes: &Nodes<'_>, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return quoted(REDACTED) };
        match layer(json) {
            Some(Layer::Object(members)) => {
                let text_of =
                    |name: &str| match members.iter().find(|(own, _)| own == name).map(|(_, value)| layer(value)) {
                        Some(Some(Layer::Text(text))) => Some(text.into_owned()),
                        _ => None,
                    };
                // A call with its arguments as a text, or the answer to one.
                let call = text_of("name").zip(text_of("arguments"));
                let answer = text_of("tool").zip(text_of("text"));
                // Schemas name the members that they describe, and hold no values.
                let is_named = members.iter().any(|(name, _)| name == "name");
                let redacted = members.into_iter().map(|(name, value)| {
                    let written = match (&*name, &call, &answer) {
                        ("input_schema" | "output_schema" | "schema", _, _) if is_named => value.to_owned(),
                        ("arguments", Some((tool, arguments)), _) => quoted(&self.arguments(tool, arguments)),
                        ("text", _, Some((tool, text))) if is_nested(text) => quoted(&self.result(tool, text)),
                        _ => self.member(&name, value, nodes, depth),
                    };
                    (name, written)
                });
                write_object(redacted.collect::<Vec<_>>())
            }
            Some(Layer::Array(items)) => {
                let items = items.into_iter().enumerate();
                write_array(
                    items
                        .map(|(index, item)| {
                            let nodes = nodes.item(index);
                            if nodes.is_secret() {
                                self.conceal(item, &nodes, depth)
                            } else {
                                self.value(item, &nodes, depth)
                            }
                        })
                        .collect::<Vec<_>>(),
                )
            }
            // JSON within a text, as a tool's answer has it.
            Some(Layer::Text(text)) if is_nested(&text) => {
                let inner = self.value(&text, &Nodes::default(), depth);
                if inner == *text { json.to_owned() } else { quoted(&inner) }
            }
            _ => json.to_owned(),
        }
    }

    fn member(&mut self, name: &str, value: &str, nodes: &Nodes<'_>, depth: usize) -> String {
        let nodes = nodes.member(name);
        if nodes.is_secret() || self.redaction.is_secret_name(name) {
            self.conceal(value, &nodes, depth)
        } else {
            self.value(value, &nodes, depth)
        }
    }

    /// Replaces every text and number of a value, in the same shape and as far as possible within the same bounds.
    fn conceal(&mut self, json: &str, nodes: &Nodes<'_>, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return quoted(REDACTED) };
        match layer(json) {
            Some(Layer::Object(members)) => write_object(
                members
                    .into_iter()
                    .map(|(name, value)| {
                        let concealed = self.conceal(value, &nodes.member(&name), depth);
                        (name, concealed)
                    })
                    .collect::<Vec<_>>(),
            ),
            Some(Layer::Array(items)) => {
                let items = items.into_iter().enumerate();
                write_array(
                    items.map(|(index, item)| self.conceal(item, &nodes.item(index), depth)).collect::<Vec<_>>(),
                )
            }
            Some(Layer::Text(text)) => {
                let concealed = concealed_text(nodes, text.chars().count());
                // What was redacted before is no secret.
                if text != concealed {
                    self.secrets.add(&text);
                }
                quoted(&concealed)
            }
            Some(Layer::Word("true" | "false")) => "false".to_owned(),
            Some(Layer::Word("null")) | None => "null".to_owned(),
            Some(Layer::Word(number)) => {
                let concealed = concealed_number(nodes, number);
                if number != concealed {
                    self.secrets.add_number(number);
                }
                concealed
            }
        }
    }
}

/// The mark, as long or as short as the schema wants a text; as short or as long as the text was where that is refused, in the same words.
fn concealed_text(nodes: &Nodes<'_>, length: usize) -> String {
    /// A schema may ask for a text of any length; a record need not have it.
    const LONGEST: usize = 4096;
    let bound = |word| nodes.number(word).and_then(Number::as_u64).and_then(|length| usize::try_from(length).ok());
    let (least, most) = (bound("minLength").unwrap_or(0), bound("maxLength").unwrap_or(usize::MAX));
    let wanted = match length {
        _ if length < least || length > most => length,
        _ => REDACTED.len().max(least).min(most),
    };
    let mut text = REDACTED.to_owned();
    text.truncate(wanted);
    text.extend(std::iter::repeat_n('*', wanted.min(LONGEST).saturating_sub(REDACTED.len())));
    text
}

/// 0, or the number within the bounds of the schema that is nearest to it; one beyond them where the number was.
fn concealed_number(nodes: &Nodes<'_>, number: &str) -> String {
    let number: f64 = number.parse().unwrap_or_default();
    let bound = |word: &str, by: f64| nodes.number(word).and_then(Number::as_f64).map(|bound| bound + by);
    let least = bound("minimum", 0.0).or_else(|| bound("exclusiveMinimum", 1.0)).unwrap_or(f64::MIN);
    let most = bound("maximum", 0.0).or_else(|| bound("exclusiveMaximum", -1.0)).unwrap_or(f64::MAX);
    let concealed = match number {
        _ if number < least => least - 1.0,
        _ if number > most => most + 1.0,
        _ => 0.0_f64.max(least).min(most),
    };
    // Rust writes a float without a fraction as an integer.
    if concealed == 0.0 { "0".to_owned() } else { concealed.to_string() }
}
