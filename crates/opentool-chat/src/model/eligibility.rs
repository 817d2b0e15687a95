//! Whether the calls of an answer are run: [`Eligibility`].

use crate::options::ChatOptions;
use crate::response::ChatResponse;

/// Says whether a model runs the calls of an answer itself.
///
/// It is asked about every answer with calls, while [internal execution](ChatOptions::internal_execution) is on. A closure
/// `Fn(&ChatOptions, &ChatResponse) -> bool` is such a predicate; without one the calls of every answer are run.
pub trait Eligibility: Send + Sync + 'static {
    /// Says whether the calls of this answer are run.
    fn is_eligible(&self, options: &ChatOptions, response: &ChatResponse) -> bool;
}

impl<F> Eligibility for F
where
    F: Fn(&ChatOptions, &ChatResponse) -> bool + Send + Sync + 'static,
{
    fn is_eligible(&self, options: &ChatOptions, response: &ChatResponse) -> bool {
        self(options, response)
    }
}
