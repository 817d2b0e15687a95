//! The codes of findings. Each is documented, with a wrong and a right example, in `docs/diagnostics.md`.

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Understood, but differs from the spec; other readers may fail.
    Warning,
    /// The document cannot be used as it is.
    Error,
}

impl Severity {
    /// The word before a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! codes {
    ($( $(#[$doc:meta])* $Name:ident = $id:literal $severity:ident; )*) => {
        /// The kind of a finding. Its text form (`OT010`) is stable: it never changes its meaning and is never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $( $(#[$doc])* $Name, )*
        }

        impl Code {
            /// Every code, in the order of its number.
            pub const ALL: &[Code] = &[$(Code::$Name),*];

            /// The stable text form, such as `OT010`.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$Name => $id, )* }
            }

            /// How serious a finding with this code is.
            pub const fn severity(self) -> Severity {
                match self { $( Code::$Name => Severity::$severity, )* }
            }
        }
    };
}

codes! {
    /// The text is not JSON.
    NotJson = "OT001" Error;
    /// Values nest too deep.
    TooDeep = "OT002" Error;
    /// The document is not a JSON object.
    NotAnObject = "OT003" Error;
    /// A key is in one object twice.
    DuplicateKey = "OT004" Warning;
    /// A number is beyond a 64-bit float.
    NumberTooLarge = "OT005" Error;
    /// An integer is beyond 64 bits.
    NumberRounded = "OT006" Warning;
    /// The text starts with a byte order mark.
    ByteOrderMark = "OT007" Note;
    /// The document follows another format.
    ForeignDocument = "OT008" Error;

    /// A required field is absent.
    MissingField = "OT010" Error;
    /// A value has the wrong JSON type.
    WrongType = "OT011" Error;
    /// A key is not in the spec.
    UnknownKey = "OT012" Note;
    /// The document's version is not 1.x.
    UnsupportedVersion = "OT013" Error;
    /// The document's version is a 1.x that no spec describes.
    UnknownVersion = "OT014" Note;
    /// `server` came with 1.1.0.
    ServerTooEarly = "OT015" Note;
    /// The URL of the server is none.
    InvalidServerUrl = "OT016" Error;

    /// A function's name breaks the naming rule.
    InvalidName = "OT020" Error;
    /// Two functions have the same name.
    DuplicateFunction = "OT021" Error;
    /// Two parameters of a function have the same name.
    DuplicateParameter = "OT022" Error;
    /// There are no functions.
    NoFunctions = "OT023" Warning;
    /// A function's description is empty.
    EmptyDescription = "OT024" Warning;
    /// A function has no `parameters`.
    NoParameters = "OT025" Warning;
    /// A parameter has no `required`.
    NoRequired = "OT026" Warning;
    /// The parameters are written as a JSON Schema.
    GenerationA = "OT027" Warning;
    /// The parameters are written as an object by name.
    GenerationB = "OT028" Warning;
    /// The return value is written under `returns`.
    Returns = "OT029" Warning;
    /// A function declares `stream`, an extension.
    Stream = "OT030" Note;
    /// A parameter's name is empty.
    EmptyParameterName = "OT031" Warning;
    /// A return value's name is empty.
    EmptyReturnName = "OT032" Warning;

    /// A schema has neither `type` nor `$ref`.
    NoType = "OT040" Error;
    /// A schema's type is none of the six.
    UnknownType = "OT041" Error;
    /// A schema's type is written as in another language.
    TypeAlias = "OT042" Warning;
    /// A schema's type is a list of types.
    TypeUnion = "OT043" Warning;
    /// An object schema has no `properties`.
    NoProperties = "OT044" Warning;
    /// An array schema has no `items`.
    NoItems = "OT045" Warning;
    /// A schema requires a property it does not have.
    UnknownRequired = "OT046" Warning;
    /// Values of a number, integer or boolean are written as strings.
    EnumAsText = "OT047" Note;
    /// A value of an enum does not fit the type.
    EnumMismatch = "OT048" Error;
    /// A schema is never referred to.
    UnusedSchema = "OT049" Note;

    /// A reference leads nowhere.
    UnresolvedReference = "OT050" Error;
    /// A reference has siblings, which readers ignore.
    ReferenceSiblings = "OT051" Warning;
    /// A reference or its schemas are where another format keeps them.
    ReferencePlace = "OT052" Warning;
    /// References lead in a cycle and never reach a schema.
    CircularReference = "OT053" Error;
    /// A reference leaves the document.
    RemoteReference = "OT054" Error;
    /// A keyword of JSON Schema has a value that it cannot have.
    InvalidKeyword = "OT055" Error;
    /// An enum allows no value.
    EmptyEnum = "OT056" Error;
    /// A regular expression cannot be used.
    InvalidPattern = "OT057" Error;

    /// The calling convention is absent.
    NoCallingConvention = "OT060" Warning;
    /// The calling convention is unknown.
    UnknownConvention = "OT061" Error;
    /// A parameter has no `isIn`.
    NoIsIn = "OT062" Warning;
    /// `isIn` is inside `cType`.
    IsInInsideCType = "OT063" Warning;
    /// A C type has no `isPointer`.
    NoIsPointer = "OT064" Warning;
    /// A schema has no C type; one is assumed.
    NoCType = "OT065" Note;
    /// A C type is not spelt as in the spec.
    CSpelling = "OT066" Warning;
    /// A C type cannot be passed.
    UnsupportedCType = "OT067" Error;
    /// A C type is unknown.
    UnknownCType = "OT068" Error;
    /// Two results of a function have the same name.
    ResultClash = "OT069" Error;
    /// An output parameter is not a pointer.
    OutNeedsPointer = "OT070" Error;
    /// A parameter is `void`.
    VoidParameter = "OT071" Error;
    /// A raw pointer is not declared as a handle.
    RawPointer = "OT072" Error;
    /// An array or object has no C type.
    NeedsCType = "OT073" Error;
    /// An array is not a pointer to its elements, or an object is to be passed.
    NotAPointer = "OT074" Error;
    /// An `x-…` key has an invalid value.
    InvalidExtension = "OT075" Error;
    /// An `x-…` key is nearly one that is known.
    MisspeltExtension = "OT076" Warning;
    /// A parameter needs a handle that no function returns.
    UnknownHandle = "OT077" Warning;
    /// The function that `x-init` names must be given arguments.
    InitNeedsArguments = "OT078" Error;
    /// A key of the table of codes is not an integer.
    CodeKey = "OT079" Warning;

    /// A function cannot be called in the library that the document is checked against.
    NotInLibrary = "OT080" Error;
    /// A value of the schema's type cannot be passed as its C type.
    TypePair = "OT081" Error;
    /// Keys and types of a function do not go together.
    KeysConflict = "OT082" Error;
    /// A mark for a review is left.
    Review = "OT083" Warning;

    /// A workflow has no step `start`.
    NoStart = "OT090" Error;
    /// No step leads to a step.
    UnreachableStep = "OT091" Warning;
    /// A step leads back to an earlier one, so that a run never ends by itself.
    EndlessLoop = "OT092" Warning;
    /// A step's `next` is nearly the name of a step.
    MisspeltNext = "OT093" Warning;
    /// A reference names no step, or nothing that its step has.
    UnknownStepReference = "OT094" Error;
    /// A reference is inside an argument, where it is not replaced.
    NestedReference = "OT095" Error;
    /// A reference is to a step that cannot have run before.
    ReferenceTooEarly = "OT096" Error;
    /// The function cannot give a result of the type that the step expects.
    ResultType = "OT097" Error;
    /// The default of a result is null, so that only null passes.
    NullResult = "OT098" Warning;
    /// The tools that the workflow is checked with have no such function.
    UnknownFunction = "OT099" Error;
}

impl Code {
    /// The code with this text form.
    pub fn from_id(id: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == id)
    }

    /// Whether the typed model can hold the document only after the fix of such a finding.
    pub(crate) const fn shapes_the_model(self) -> bool {
        matches!(
            self,
            Code::NotJson
                | Code::ByteOrderMark
                | Code::MissingField
                | Code::WrongType
                | Code::GenerationA
                | Code::GenerationB
                | Code::Returns
                | Code::UnknownType
                | Code::TypeAlias
                | Code::TypeUnion
                | Code::ReferencePlace
                | Code::UnknownConvention
                | Code::IsInInsideCType
                | Code::CSpelling
                | Code::UnsupportedCType
                | Code::UnknownCType
        )
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
