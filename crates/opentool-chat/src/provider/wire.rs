//! The parts that wire formats are made of.

mod endpoint;
mod error;
mod format;
mod json_body;
mod lenient;

pub(crate) use self::endpoint::provider_url;
pub(crate) use self::error::{WireError, excerpt, shortened};
pub(crate) use self::format::{KeyHeader, StreamProgress, StreamReader, Variables, WireFormat, WireRequest};
pub(crate) use self::json_body::JsonBody;
pub(crate) use self::lenient::{arguments_text, empty_object, is_blank, lenient, object_or_none, text_of};
