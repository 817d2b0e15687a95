//! A frontend at its path: [`MountedFrontend`].

use std::sync::Arc;

use super::frontend::Frontend;
use super::routes::MountPath;

/// A frontend with what it says about itself. It is asked once, so that its code runs only where a panic becomes an answer.
#[derive(Clone)]
pub(crate) struct MountedFrontend {
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) path: MountPath,
    pub(crate) authenticates_callers: bool,
}

impl MountedFrontend {
    pub(crate) fn new(frontend: impl Frontend) -> Self {
        Self {
            path: MountPath::new(frontend.mount_path(), frontend.takes_sub_paths()),
            authenticates_callers: frontend.authenticates_callers(),
            frontend: Arc::new(frontend),
        }
    }
}
