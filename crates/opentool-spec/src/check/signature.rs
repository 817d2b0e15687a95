//! The functions of an OpenDyn document as nodes, collected while the document is walked.

use crate::tree::NodeId;

/// A function as C sees it, checked once the references of its schemas are resolved.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) function: NodeId,
    pub(super) parameters: Vec<ParameterNodes>,
    /// The return value, its name and its schema.
    pub(super) returns: Option<(NodeId, Option<NodeId>, Option<NodeId>)>,
}

/// A parameter and its members.
#[derive(Debug)]
pub(super) struct ParameterNodes {
    pub(super) parameter: NodeId,
    pub(super) name: Option<NodeId>,
    pub(super) schema: Option<NodeId>,
    pub(super) is_in: Option<NodeId>,
}
