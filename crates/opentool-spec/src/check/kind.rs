//! Which spec and which generation of it a document follows.

use crate::model::{OpenDyn, OpenTool, OpenWorkflow};

/// Which of the specs a document follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DocumentKind {
    /// A description of callable functions.
    OpenTool,
    /// A description of the functions of a dynamic library.
    OpenDyn,
    /// Calls of functions in a fixed order.
    OpenWorkflow,
}

impl DocumentKind {
    /// The key that names the spec's version, which is also the kind's name in lower case.
    pub const fn key(self) -> &'static str {
        match self {
            DocumentKind::OpenTool => "opentool",
            DocumentKind::OpenDyn => "opendyn",
            DocumentKind::OpenWorkflow => "openworkflow",
        }
    }

    /// The version of the spec that this crate writes.
    pub const fn version(self) -> &'static str {
        match self {
            DocumentKind::OpenTool => OpenTool::VERSION,
            DocumentKind::OpenDyn => OpenDyn::VERSION,
            DocumentKind::OpenWorkflow => OpenWorkflow::VERSION,
        }
    }

    pub(super) const fn known_versions(self) -> &'static [&'static str] {
        match self {
            DocumentKind::OpenTool => &["1.0.0", "1.1.0"],
            DocumentKind::OpenDyn | DocumentKind::OpenWorkflow => &["1.0.0"],
        }
    }
}

impl std::fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DocumentKind::OpenTool => "OpenTool",
            DocumentKind::OpenDyn => "OpenDyn",
            DocumentKind::OpenWorkflow => "OpenWorkflow",
        })
    }
}

/// Which shape a document's parameters have. All three have the version `"1.0.0"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub enum DocumentGeneration {
    /// Parameters as a JSON Schema.
    A,
    /// Parameters as an object by name, and `returns`.
    B,
    /// Lists and `return`, as in the specs.
    C,
}

/// Whether a version is one of 1.x.
pub(crate) fn is_one_point_x(version: &str) -> bool {
    let mut parts = version.split('.');
    parts.next() == Some("1") && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
