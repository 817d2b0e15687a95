//! The parts that wire formats are made of.

mod block_order;
mod endpoint;
mod error;
mod format;
mod json_body;
mod lenient;
mod media;

pub(crate) use self::block_order::{BlockOrder, MessagePart, message_parts};
pub(crate) use self::endpoint::provider_url;
pub(crate) use self::error::{WireError, excerpt, retry_delay, shortened};
pub(crate) use self::format::{KeyHeader, StreamProgress, StreamReader, Variables, WireFormat, WireRequest};
pub(crate) use self::json_body::JsonBody;
pub(crate) use self::lenient::{arguments_text, empty_object, is_blank, lenient, object_or_none, text_of};
pub(crate) use self::media::{audio_format, file_name, inlined_text, is_common_image, refused_media};
