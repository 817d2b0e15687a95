//! Structs of streams, whose fields say where data comes from and goes to: `next_in`, `avail_in`, `next_out`, `avail_out`.

use opentool_spec::{CType, CTypeName, SchemaType};
use serde_json::json;

use crate::draft::FunctionDraft;
use crate::parameter_draft::ParameterDraft;
use crate::records::RecordRole;
use crate::words;

/// The size of the buffer that a stream fills in one call.
const BUFFER: u64 = 65536;
/// What functions are called that take data from a stream and give some.
const PROCESSING: [&str; 5] = ["deflate", "inflate", "code", "compress", "decompress"];

impl FunctionDraft<'_, '_> {
    /// Adds the fields of a stream to a function that works on it.
    pub(crate) fn add_stream_fields(&mut self) {
        let Some((_, first)) = self.signature.parameters.first() else { return };
        let Some(key) = self.records.behind(first).filter(|key| self.records.role(key) == Some(RecordRole::Allocated))
        else {
            return;
        };
        let (Some(record), Some(layout)) = (self.records.record(&key), self.records.layout(&key)) else { return };
        if self.records.is_maker(self.name, &key) || self.signature.parameters.len() > 2 {
            return;
        }
        let last = words::split(self.name).pop().unwrap_or_default();
        let is_named = PROCESSING.iter().any(|word| last == *word || last.ends_with(word));
        if !is_named && !self.evidence.has_any(&["next_in", "avail_out"]) {
            return;
        }
        let field = |name: &str| {
            let at = record.fields.iter().flatten().position(|field| field.name == name)?;
            Some((&record.fields.as_ref()?[at].kind, layout.offsets[at]?))
        };
        let (Some(next_in), Some(avail_in), Some(next_out), Some(avail_out)) =
            (field("next_in"), field("avail_in"), field("next_out"), field("avail_out"))
        else {
            return;
        };
        let (Some(count_in), Some(count_out)) = (avail_in.0.scalar(), avail_out.0.scalar()) else { return };
        let stream = self.names[0].clone();
        let bytes = |name: &str| ParameterDraft::new(name, SchemaType::String, CType::pointer(CTypeName::UnsignedChar));
        let counted = |offset: u64, scalar: CTypeName| json!({ "offset": offset, "cType": scalar.as_str() });
        self.add(
            bytes("next_in")
                .optional()
                .key("x-field", format!("{stream}.next_in"))
                .key("x-offset", next_in.1)
                .key("x-lengthField", counted(avail_in.1, count_in))
                .note("What goes into the stream; nothing where it is left out.")
                .base64(),
        );
        self.add(
            bytes("next_out")
                .out()
                .key("x-field", format!("{stream}.next_out"))
                .key("x-offset", next_out.1)
                .key("x-size", BUFFER)
                .key("x-lengthField", counted(avail_out.1, count_out))
                .note("What comes out of the stream.")
                .base64(),
        );
        let left = ParameterDraft::new("avail_in", SchemaType::Integer, CType::value(count_in)).out();
        self.add(
            left.key("x-field", format!("{stream}.avail_in"))
                .key("x-offset", avail_in.1)
                .note("How many bytes of `next_in` were not read: give them again in the next call."),
        );
    }
}
