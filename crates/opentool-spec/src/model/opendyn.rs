//! The OpenDyn document 1.0.0: functions of a dynamic library.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{
    builders::{described, function_builders},
    object::object,
    schema::SchemaType,
};

object! {
    /// An OpenDyn document: a description of the functions of a dynamic library.
    pub struct OpenDyn {
        /// The version of the spec the document follows.
        "opendyn" => opendyn: required String,
        /// What the document is about, and the calling convention.
        "info" => info: required DynInfo,
        /// The functions.
        "functions" => functions: required Vec<DynFunction>,
        /// Schemas that the functions refer to, by name.
        "schemas" => schemas: optional IndexMap<String, DynSchema>,
        /// What the library's status codes mean.
        "code" => code: optional IndexMap<String, String>,
    }
}

object! {
    /// What a document is about, and how its functions are called.
    pub struct DynInfo {
        /// The document's title.
        "title" => title: required String,
        /// A more detailed description.
        "description" => description: optional String,
        /// The document's own version, not the spec's.
        "version" => version: required String,
        /// How the library's functions are called.
        "callingConvention" => calling_convention: default CallingConvention = CallingConvention::Cdecl,
    }
}

object! {
    /// A function of the library.
    pub struct DynFunction {
        /// The name: at most 64 of `a-z`, `A-Z`, `0-9`, `-` and `_`.
        "name" => name: required String,
        /// What the function does, for people and for models.
        "description" => description: required String,
        /// What the function takes, in the order of the C prototype.
        "parameters" => parameters: default Vec<DynParameter> = Vec::new(),
        /// What the function returns; none where it is `void`.
        "return" => returns: optional DynReturn,
    }
}

object! {
    /// A parameter of a library function.
    pub struct DynParameter {
        /// The name.
        "name" => name: required String,
        /// What the parameter means.
        "description" => description: optional String,
        /// The format.
        "schema" => schema: required DynSchema,
        /// Whether it is an input; otherwise it is a pointer that the function writes through.
        "isIn" => is_in: default bool = true,
        /// Whether it must be given.
        "required" => required: default bool = true,
    }
}

object! {
    /// The return value of a library function.
    pub struct DynReturn {
        /// The name.
        "name" => name: required String,
        /// What the value means.
        "description" => description: optional String,
        /// The format.
        "schema" => schema: required DynSchema,
    }
}

object! {
    /// The format of a value, as the caller sees it and as C sees it.
    #[derive(Default)]
    pub struct DynSchema {
        /// The type the caller sees; absent where the schema is a reference.
        "type" => schema_type: optional SchemaType,
        /// What a reader should know about the value.
        "description" => description: optional String,
        /// The type that crosses the boundary.
        "cType" => c_type: optional CType,
        /// A reference to another schema of the same document, such as `#/schemas/Handle`.
        "$ref" => reference: optional String,
    }
}

object! {
    /// A C type.
    pub struct CType {
        /// Its name.
        "type" => name: required CTypeName,
        /// Whether it is a pointer to that type.
        "isPointer" => is_pointer: default bool = false,
    }
}

/// How a library's functions are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallingConvention {
    /// The C convention of the platform.
    Cdecl,
    /// `stdcall`, which differs from the C convention only on 32-bit x86.
    Stdcall,
}

impl CallingConvention {
    /// Both names, as a document writes them.
    pub const NAMES: [&'static str; 2] = ["cdecl", "stdcall"];
}

/// The fourteen C types of the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each variant is the C type of the same name")]
pub enum CTypeName {
    #[serde(rename = "void")]
    Void,
    #[serde(rename = "bool")]
    Bool,
    #[serde(rename = "char")]
    Char,
    #[serde(rename = "unsigned char")]
    UnsignedChar,
    #[serde(rename = "short")]
    Short,
    #[serde(rename = "unsigned short")]
    UnsignedShort,
    #[serde(rename = "int")]
    Int,
    #[serde(rename = "unsigned int")]
    UnsignedInt,
    #[serde(rename = "long")]
    Long,
    #[serde(rename = "unsigned long")]
    UnsignedLong,
    #[serde(rename = "long long")]
    LongLong,
    #[serde(rename = "unsigned long long")]
    UnsignedLongLong,
    #[serde(rename = "float")]
    Float,
    #[serde(rename = "double")]
    Double,
}

impl CTypeName {
    /// All fourteen, in the order of the spec.
    pub const ALL: [CTypeName; 14] = [
        CTypeName::Void,
        CTypeName::Bool,
        CTypeName::Char,
        CTypeName::UnsignedChar,
        CTypeName::Short,
        CTypeName::UnsignedShort,
        CTypeName::Int,
        CTypeName::UnsignedInt,
        CTypeName::Long,
        CTypeName::UnsignedLong,
        CTypeName::LongLong,
        CTypeName::UnsignedLongLong,
        CTypeName::Float,
        CTypeName::Double,
    ];

    /// The type's name as a document writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            CTypeName::Void => "void",
            CTypeName::Bool => "bool",
            CTypeName::Char => "char",
            CTypeName::UnsignedChar => "unsigned char",
            CTypeName::Short => "short",
            CTypeName::UnsignedShort => "unsigned short",
            CTypeName::Int => "int",
            CTypeName::UnsignedInt => "unsigned int",
            CTypeName::Long => "long",
            CTypeName::UnsignedLong => "unsigned long",
            CTypeName::LongLong => "long long",
            CTypeName::UnsignedLongLong => "unsigned long long",
            CTypeName::Float => "float",
            CTypeName::Double => "double",
        }
    }

    /// The type with this name, if it is one of the fourteen.
    pub fn from_name(name: &str) -> Option<Self> {
        CTypeName::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl std::fmt::Display for CTypeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

function_builders!(OpenDyn, DynFunction, DynParameter, DynReturn, DynSchema);
described!(DynInfo, DynParameter, DynReturn);

impl OpenDyn {
    /// The version of the spec that this crate writes.
    pub const VERSION: &'static str = "1.0.0";

    /// A document of the current version without functions.
    pub fn new(info: DynInfo) -> Self {
        OpenDyn {
            opendyn: OpenDyn::VERSION.to_owned(),
            info,
            functions: Vec::new(),
            schemas: None,
            code: None,
            extra: Default::default(),
            layout: Default::default(),
        }
    }
}

impl DynInfo {
    /// A title and a version, called by the C convention.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        DynInfo {
            title: title.into(),
            description: None,
            version: version.into(),
            calling_convention: CallingConvention::Cdecl,
            extra: Default::default(),
            layout: Default::default(),
        }
    }
}

impl DynParameter {
    /// A required input.
    pub fn new(name: impl Into<String>, schema: DynSchema) -> Self {
        DynParameter {
            name: name.into(),
            description: None,
            schema,
            is_in: true,
            required: true,
            extra: Default::default(),
            layout: Default::default(),
        }
    }

    /// Makes it a pointer that the function writes through.
    #[must_use]
    pub fn out(mut self) -> Self {
        self.is_in = false;
        self.required = false;
        self
    }
}

impl DynSchema {
    /// What the caller sees and what C sees.
    pub fn new(schema_type: SchemaType, c_type: CType) -> Self {
        DynSchema { schema_type: Some(schema_type), c_type: Some(c_type), ..DynSchema::default() }
    }
}

impl CType {
    /// A value of this type.
    pub fn value(name: CTypeName) -> Self {
        CType { name, is_pointer: false, extra: Default::default(), layout: Default::default() }
    }

    /// A pointer to this type.
    pub fn pointer(name: CTypeName) -> Self {
        CType { is_pointer: true, ..CType::value(name) }
    }
}
