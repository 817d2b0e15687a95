//! The OpenTool document, 1.0.0 and 1.1.0.

use indexmap::IndexMap;

use super::{
    builders::{described, function_builders},
    object::object,
    schema::Schema,
};

object! {
    /// An OpenTool document: a description of callable functions.
    ///
    /// ```
    /// use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
    ///
    /// let document = OpenTool::new(Info::new("Calculator", "1.0.0")).function(
    ///     Function::new("add", "Add two integers.")
    ///         .parameter(Parameter::new("a", Schema::integer()))
    ///         .parameter(Parameter::new("b", Schema::integer())),
    /// );
    /// assert_eq!(document.functions[0].parameters.len(), 2);
    /// ```
    pub struct OpenTool {
        /// The version of the spec the document follows.
        "opentool" => opentool: required String,
        /// What the document is about.
        "info" => info: required Info,
        /// Where the functions can be called (since 1.1.0).
        "server" => server: optional ServerObject,
        /// The functions.
        "functions" => functions: required Vec<Function>,
        /// Schemas that the functions refer to, by name.
        "schemas" => schemas: optional IndexMap<String, Schema>,
    }
}

object! {
    /// What a document is about.
    pub struct Info {
        /// The document's title.
        "title" => title: required String,
        /// A more detailed description.
        "description" => description: optional String,
        /// The document's own version, not the spec's.
        "version" => version: required String,
    }
}

object! {
    /// Where the functions of a document can be called.
    pub struct ServerObject {
        /// The URL of the target host.
        "url" => url: required String,
        /// What the host is.
        "description" => description: optional String,
    }
}

object! {
    /// A function that can be called.
    pub struct Function {
        /// The name: at most 64 of `a-z`, `A-Z`, `0-9`, `-` and `_`.
        "name" => name: required String,
        /// What the function does, for people and for models.
        "description" => description: required String,
        /// What the function takes.
        "parameters" => parameters: default Vec<Parameter> = Vec::new(),
        /// What the function returns; none where there is no value.
        "return" => returns: optional Return,
    }
}

object! {
    /// A parameter of a function.
    pub struct Parameter {
        /// The name.
        "name" => name: required String,
        /// What the parameter means.
        "description" => description: optional String,
        /// The format.
        "schema" => schema: required Schema,
        /// Whether it must be given.
        "required" => required: default bool = false,
    }
}

object! {
    /// The return value of a function.
    pub struct Return {
        /// The name.
        "name" => name: required String,
        /// What the value means.
        "description" => description: optional String,
        /// The format.
        "schema" => schema: required Schema,
    }
}

function_builders!(OpenTool, Function, Parameter, Return, Schema);
described!(Info, ServerObject, Parameter, Return);

impl OpenTool {
    /// The version of the spec that this crate writes.
    pub const VERSION: &'static str = "1.1.0";

    /// A document of the current version without functions.
    pub fn new(info: Info) -> Self {
        OpenTool {
            opentool: OpenTool::VERSION.to_owned(),
            info,
            server: None,
            functions: Vec::new(),
            schemas: None,
            extra: Default::default(),
            layout: Default::default(),
        }
    }

    /// Adds a schema that functions can refer to as `#/schemas/NAME`.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>, schema: Schema) -> Self {
        self.schemas.get_or_insert_default().insert(name.into(), schema);
        self
    }

    /// Sets where the functions can be called.
    #[must_use]
    pub fn server(mut self, server: ServerObject) -> Self {
        self.server = Some(server);
        self
    }
}

impl Info {
    /// A title and a version.
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        Info {
            title: title.into(),
            description: None,
            version: version.into(),
            extra: Default::default(),
            layout: Default::default(),
        }
    }
}

impl ServerObject {
    /// A server at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        ServerObject { url: url.into(), description: None, extra: Default::default(), layout: Default::default() }
    }
}

impl Parameter {
    /// A parameter that must be given.
    pub fn new(name: impl Into<String>, schema: Schema) -> Self {
        Parameter {
            name: name.into(),
            description: None,
            schema,
            required: true,
            extra: Default::default(),
            layout: Default::default(),
        }
    }

    /// Lets callers leave the parameter out.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }
}
