//! How a worker is started: its command line, its descriptors, and the first messages.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Permissions;
use crate::engine::Options;
use crate::sandbox::Confinement;

/// The first argument of a worker, since its environment is the operator's. The parent's process number follows.
pub(crate) const MARK: &str = "--opentool-dyn-worker";

/// The descriptors of a worker: beyond those that a library is likely to close or print into.
pub(crate) const REQUESTS: i32 = 64;
pub(crate) const REPLIES: i32 = 65;
pub(crate) const PAGE: i32 = 66;

/// The first message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HelloMessage {
    /// The text of the document.
    pub(crate) document: Arc<str>,
    pub(crate) library: PathBuf,
    pub(crate) options: Options,
    pub(crate) permissions: Permissions,
}

/// What a worker answers once the library is loaded.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadyMessage {
    pub(crate) confinement: Confinement,
}
