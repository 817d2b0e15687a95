//! The C types that hold one value, and how a word of memory is read and written as one of them.

use opentool_spec::{CTypeName, SchemaType};

/// A C type that holds one value: the fourteen without `void`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Bool,
    Char,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
}

/// A scalar as the machine has it, whatever C calls it on this platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Machine {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// The JSON form that a scalar has for the caller, by the schema's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonForm {
    /// `true` or `false`.
    Boolean,
    /// A number, exact where it is an integer.
    Number,
    /// A text of one character.
    Character,
    /// An integer in decimal digits, as a text.
    Digits,
}

/// A scalar on both sides of the boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) scalar: Scalar,
    pub(crate) machine: Machine,
    pub(crate) form: JsonForm,
}

impl Scalar {
    /// The scalar of a C type; none for `void`.
    pub(crate) fn from_c_type(name: CTypeName) -> Option<Self> {
        Some(match name {
            CTypeName::Void => return None,
            CTypeName::Bool => Scalar::Bool,
            CTypeName::Char => Scalar::Char,
            CTypeName::UnsignedChar => Scalar::UnsignedChar,
            CTypeName::Short => Scalar::Short,
            CTypeName::UnsignedShort => Scalar::UnsignedShort,
            CTypeName::Int => Scalar::Int,
            CTypeName::UnsignedInt => Scalar::UnsignedInt,
            CTypeName::Long => Scalar::Long,
            CTypeName::UnsignedLong => Scalar::UnsignedLong,
            CTypeName::LongLong => Scalar::LongLong,
            CTypeName::UnsignedLongLong => Scalar::UnsignedLongLong,
            CTypeName::Float => Scalar::Float,
            CTypeName::Double => Scalar::Double,
        })
    }

    /// What the machine has for it on the running platform.
    pub(crate) const fn machine(self) -> Machine {
        const LONG_IS_WIDE: bool = size_of::<core::ffi::c_long>() == 8;
        const CHAR_IS_SIGNED: bool = core::ffi::c_char::MIN != 0;
        match self {
            Scalar::Bool => Machine::Bool,
            Scalar::Char if CHAR_IS_SIGNED => Machine::I8,
            Scalar::Char | Scalar::UnsignedChar => Machine::U8,
            Scalar::Short => Machine::I16,
            Scalar::UnsignedShort => Machine::U16,
            Scalar::Int => Machine::I32,
            Scalar::UnsignedInt => Machine::U32,
            Scalar::Long if LONG_IS_WIDE => Machine::I64,
            Scalar::Long => Machine::I32,
            Scalar::UnsignedLong if LONG_IS_WIDE => Machine::U64,
            Scalar::UnsignedLong => Machine::U32,
            Scalar::LongLong => Machine::I64,
            Scalar::UnsignedLongLong => Machine::U64,
            Scalar::Float => Machine::F32,
            Scalar::Double => Machine::F64,
        }
    }

    /// The type's name in C.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Char => "char",
            Scalar::UnsignedChar => "unsigned char",
            Scalar::Short => "short",
            Scalar::UnsignedShort => "unsigned short",
            Scalar::Int => "int",
            Scalar::UnsignedInt => "unsigned int",
            Scalar::Long => "long",
            Scalar::UnsignedLong => "unsigned long",
            Scalar::LongLong => "long long",
            Scalar::UnsignedLongLong => "unsigned long long",
            Scalar::Float => "float",
            Scalar::Double => "double",
        }
    }

    pub(crate) const fn is_char(self) -> bool {
        matches!(self, Scalar::Char | Scalar::UnsignedChar)
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Scalar::Float | Scalar::Double)
    }

    pub(crate) const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Scalar::Bool)
    }
}

impl Machine {
    /// How many bytes a value takes.
    pub(crate) const fn size(self) -> usize {
        match self {
            Machine::Bool | Machine::I8 | Machine::U8 => 1,
            Machine::I16 | Machine::U16 => 2,
            Machine::I32 | Machine::U32 | Machine::F32 => 4,
            Machine::I64 | Machine::U64 | Machine::F64 => 8,
        }
    }

    /// The smallest and the largest integer.
    pub(crate) const fn bounds(self) -> (i64, u64) {
        match self {
            Machine::Bool => (0, 1),
            Machine::I8 => (i8::MIN as i64, i8::MAX as u64),
            Machine::U8 => (0, u8::MAX as u64),
            Machine::I16 => (i16::MIN as i64, i16::MAX as u64),
            Machine::U16 => (0, u16::MAX as u64),
            Machine::I32 => (i32::MIN as i64, i32::MAX as u64),
            Machine::U32 => (0, u32::MAX as u64),
            Machine::I64 => (i64::MIN, i64::MAX as u64),
            Machine::U64 | Machine::F32 | Machine::F64 => (0, u64::MAX),
        }
    }

    /// A word whose first bytes are an integer within [`bounds`](Self::bounds), given as its two's complement.
    #[inline]
    pub(crate) const fn word_of_integer(self, bits: u64) -> u64 {
        // On a little-endian machine the low bytes come first already.
        if cfg!(target_endian = "little") { bits } else { bits << (64 - 8 * self.size()) }
    }

    /// A word whose first bytes are this float.
    #[inline]
    pub(crate) fn word_of_f32(float: f32) -> u64 {
        Machine::U32.word_of_integer(u64::from(float.to_bits()))
    }

    /// The value in the first bytes of a word.
    #[inline]
    pub(crate) fn load(self, word: u64) -> Loaded {
        let [a, b, c, d, ..] = word.to_ne_bytes();
        match self {
            Machine::Bool => Loaded::Bool(a != 0),
            Machine::I8 => Loaded::Signed(i64::from(i8::from_ne_bytes([a]))),
            Machine::U8 => Loaded::Unsigned(u64::from(a)),
            Machine::I16 => Loaded::Signed(i64::from(i16::from_ne_bytes([a, b]))),
            Machine::U16 => Loaded::Unsigned(u64::from(u16::from_ne_bytes([a, b]))),
            Machine::I32 => Loaded::Signed(i64::from(i32::from_ne_bytes([a, b, c, d]))),
            Machine::U32 => Loaded::Unsigned(u64::from(u32::from_ne_bytes([a, b, c, d]))),
            Machine::I64 => Loaded::Signed(word.cast_signed()),
            Machine::U64 => Loaded::Unsigned(word),
            Machine::F32 => Loaded::Float(f32::from_ne_bytes([a, b, c, d])),
            Machine::F64 => Loaded::Double(f64::from_bits(word)),
        }
    }
}

/// A value that was in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loaded {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
}

impl Loaded {
    /// The value as a count of bytes or elements.
    pub(crate) fn count(self) -> Option<usize> {
        match self {
            Loaded::Signed(count) => usize::try_from(count).ok(),
            Loaded::Unsigned(count) => usize::try_from(count).ok(),
            Loaded::Bool(_) | Loaded::Float(_) | Loaded::Double(_) => None,
        }
    }

    /// The value as a number of a table of codes.
    pub(crate) fn code(self) -> Option<i128> {
        match self {
            Loaded::Signed(code) => Some(i128::from(code)),
            Loaded::Unsigned(code) => Some(i128::from(code)),
            Loaded::Bool(_) | Loaded::Float(_) | Loaded::Double(_) => None,
        }
    }
}

impl Value {
    /// A C type as a schema of this type shows it.
    ///
    /// # Errors
    ///
    /// Where no value of the one is a value of the other.
    pub(crate) fn new(scalar: Scalar, schema_type: Option<SchemaType>) -> Result<Self, String> {
        let form = match schema_type {
            Some(SchemaType::Boolean) if !scalar.is_float() => JsonForm::Boolean,
            None if scalar == Scalar::Bool => JsonForm::Boolean,
            None | Some(SchemaType::Integer | SchemaType::Number) => JsonForm::Number,
            Some(SchemaType::String) if scalar.is_char() => JsonForm::Character,
            Some(SchemaType::String) if scalar.is_integer() => JsonForm::Digits,
            Some(other) => return Err(format!("{} is not passed as `{}`", article(other), scalar.name())),
        };
        Ok(Value { scalar, machine: scalar.machine(), form })
    }

    /// An element of an array.
    pub(crate) fn element(scalar: Scalar) -> Self {
        let form = if scalar == Scalar::Bool { JsonForm::Boolean } else { JsonForm::Number };
        Value { scalar, machine: scalar.machine(), form }
    }
}

fn article(schema_type: SchemaType) -> &'static str {
    match schema_type {
        SchemaType::Boolean => "a boolean",
        SchemaType::Integer => "an integer",
        SchemaType::Number => "a number",
        SchemaType::String => "a string",
        SchemaType::Array => "an array",
        SchemaType::Object => "an object",
    }
}
