//! A serialiser that looks only at the outermost value: `None` and `()` are no value, [`Text`](super::Text) is text, and an `Err`
//! is a failure.

use std::any::TypeId;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ToolError;
use crate::output::ToolOutput;
use crate::to_json::write_json;

/// The name by which a [`Text`](super::Text) is known in passing.
pub(crate) const TEXT: &str = "$opentool::Text";

/// Serialises a result straight to its JSON text.
#[inline]
pub(super) fn serialize<T: Serialize>(value: &T) -> Result<ToolOutput, ToolError> {
    let root = Root { value, found: Cell::new(Found::Json) };
    // The text is not an output yet: one that is made twice is copied in between.
    let json = write_json(&root)?;
    match root.found.get() {
        Found::Json => Ok(ToolOutput::Json(json)),
        found => found.output(&json),
    }
}

/// Makes an error of what a tool returned as one: of text as it is, of any other value as JSON.
#[cold]
fn failure(error: &RawValue) -> ToolError {
    let text = serde_json::from_str(error.get()).unwrap_or_else(|_| error.get().to_owned());
    ToolError::failed(text)
}

#[cold]
fn unreadable(error: serde_json::Error) -> ToolError {
    ToolError::invalid_result(format!("the result cannot be read back: {error}")).with_source(error)
}

/// What the outermost value turned out to be.
#[derive(Clone, Copy)]
enum Found {
    Json,
    Nothing,
    Text,
    /// The `Ok` of a result that is an output.
    Output,
    /// The `Err` of a result.
    Failure,
    /// The `Err` of a result that is a tool's error.
    Error,
}

impl Found {
    /// What the JSON text stands for.
    fn output(self, json: &RawValue) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Json => serde_json::from_str(json.get()).map(ToolOutput::Json).map_err(unreadable),
            Self::Nothing => Ok(ToolOutput::Empty),
            Self::Text => serde_json::from_str(json.get()).map(ToolOutput::Text).map_err(unreadable),
            Self::Output => serde_json::from_str(json.get()).map_err(unreadable),
            Self::Failure => Err(failure(json)),
            Self::Error => Err(serde_json::from_str(json.get()).unwrap_or_else(unreadable)),
        }
    }
}

/// Says whether a type is one of those that are text.
fn is_text<T: ?Sized>() -> bool {
    is::<T, String>()
        || is::<T, &'static str>()
        || is::<T, Cow<'static, str>>()
        || is::<T, Box<str>>()
        || is::<T, Arc<str>>()
}

/// Compares types that may be borrowed, without their lifetimes.
fn is<T: ?Sized, U: ?Sized + 'static>() -> bool {
    typeid::of::<T>() == TypeId::of::<U>()
}

struct Root<'a, T> {
    value: &'a T,
    found: Cell<Found>,
}

impl<T: Serialize> Serialize for Root<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Outermost { serializer, found: &self.found })
    }
}

struct Outermost<'a, S> {
    serializer: S,
    found: &'a Cell<Found>,
}

impl<S: Serializer> Outermost<'_, S> {
    /// Serialises what an option or a result holds, which is the outermost value then.
    fn inner<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        if is_text::<T>() {
            self.found.set(Found::Text);
        } else if is::<T, ToolOutput>() {
            self.found.set(Found::Output);
            return value.serialize(self.serializer);
        }
        value.serialize(self)
    }
}

/// Passes a method on as it is.
macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*) -> $result:ident;)+) => {$(
        #[inline]
        fn $method(self, $($argument: $type),*) -> Result<S::$result, S::Error> {
            self.serializer.$method($($argument),*)
        }
    )+};
}

impl<S: Serializer> Serializer for Outermost<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = S::SerializeStructVariant;

    forward! {
        serialize_bool(value: bool) -> Ok;
        serialize_i8(value: i8) -> Ok;
        serialize_i16(value: i16) -> Ok;
        serialize_i32(value: i32) -> Ok;
        serialize_i64(value: i64) -> Ok;
        serialize_i128(value: i128) -> Ok;
        serialize_u8(value: u8) -> Ok;
        serialize_u16(value: u16) -> Ok;
        serialize_u32(value: u32) -> Ok;
        serialize_u64(value: u64) -> Ok;
        serialize_u128(value: u128) -> Ok;
        serialize_f32(value: f32) -> Ok;
        serialize_f64(value: f64) -> Ok;
        serialize_char(value: char) -> Ok;
        serialize_str(value: &str) -> Ok;
        serialize_bytes(value: &[u8]) -> Ok;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> Ok;
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant;
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.found.set(Found::Nothing);
        self.serializer.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner(value)
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.found.set(Found::Nothing);
        self.serializer.serialize_unit()
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<S::Ok, S::Error> {
        self.found.set(Found::Nothing);
        self.serializer.serialize_unit_struct(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        if name == TEXT {
            self.found.set(Found::Text);
        }
        self.serializer.serialize_newtype_struct(name, value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        match (name, variant) {
            ("Result", "Ok") => self.inner(value),
            ("Result", "Err") => {
                self.found.set(if is::<T, ToolError>() { Found::Error } else { Found::Failure });
                value.serialize(self.serializer)
            }
            _ => self.serializer.serialize_newtype_variant(name, index, variant, value),
        }
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.serializer.is_human_readable()
    }
}
