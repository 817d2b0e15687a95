//! What is checked, for messages: [`Subject`].

/// What a checker checks, as messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// The arguments of a call.
    Arguments,
    /// Another object.
    Object,
}

impl Subject {
    /// What the root has to be.
    pub(super) fn root(self) -> &'static str {
        match self {
            Subject::Arguments => "the arguments as a JSON object",
            Subject::Object => "a JSON object",
        }
    }

    /// What a member of the object at a JSON pointer is called.
    pub(super) fn member(self, pointer: &str) -> &'static str {
        if self.has_arguments(pointer) { "argument" } else { "property" }
    }

    /// The same for several.
    pub(super) fn members(self, pointer: &str) -> &'static str {
        if self.has_arguments(pointer) { "arguments" } else { "properties" }
    }

    pub(super) fn too_long_to_explain(self) -> &'static str {
        match self {
            Subject::Arguments => "the arguments do not satisfy the input schema; they are too long to say where",
            Subject::Object => "the object does not satisfy its schema; it is too long to say where",
        }
    }

    /// Members of the root are the arguments.
    fn has_arguments(self, pointer: &str) -> bool {
        self == Subject::Arguments && pointer.is_empty()
    }
}
