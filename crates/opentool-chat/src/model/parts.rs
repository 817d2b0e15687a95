//! What the clones of a model share.

use std::sync::Arc;

use super::eligibility::Eligibility;
use crate::manager::ToolCallingManager;
use crate::options::ChatOptions;
use crate::price::PriceTable;
use crate::provider::Provider;

/// What the clones of a model share.
pub(super) struct ModelParts {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) options: ChatOptions,
    pub(super) manager: Arc<dyn ToolCallingManager>,
    pub(super) eligibility: Option<Arc<dyn Eligibility>>,
    pub(super) record_content: bool,
    pub(super) prices: Option<PriceTable>,
}

impl ModelParts {
    /// Returns the model that a request with these options goes to.
    pub(super) fn model_name<'a>(&'a self, options: &'a ChatOptions) -> Option<&'a str> {
        options.model.as_deref().or_else(|| self.provider.model())
    }
}
