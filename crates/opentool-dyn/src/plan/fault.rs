//! What keeps a function from being called, and where the document says it: [`PlanFault`].

/// What keeps a function from being called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanFault {
    /// The place within the function, as a JSON pointer: empty, `/return` or `/parameters/0`.
    pub(crate) place: String,
    pub(crate) reason: String,
}

impl PlanFault {
    /// A fault of a parameter.
    pub(crate) fn of_parameter(index: usize, name: &str, reason: impl std::fmt::Display) -> Self {
        PlanFault { place: format!("/parameters/{index}"), reason: format!("parameter `{name}`: {reason}") }
    }

    /// A fault of the return value.
    pub(crate) fn of_return(name: &str, reason: impl std::fmt::Display) -> Self {
        PlanFault { place: "/return".to_owned(), reason: format!("the return value `{name}`: {reason}") }
    }
}

impl From<String> for PlanFault {
    fn from(reason: String) -> Self {
        PlanFault { place: String::new(), reason }
    }
}
