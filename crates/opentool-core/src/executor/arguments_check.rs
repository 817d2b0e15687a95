//! The check of a call's arguments: at once where they are short, on another thread where they are long.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::debug;

use super::admit::Admitted;
use super::interrupt::unless_cancelled;
use super::job::Job;
use super::policies::Policies;
use crate::check::{ArgumentChecker, Unchecked};
use crate::panics::guarded;
use crate::{Arguments, MemoryBudget, Strictness, ToolError};

/// As many long texts are checked at once as there are processors; the others wait, and take no thread meanwhile.
static CHECKING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

/// Checks arguments against the published schema, and drops from them what the checker drops.
pub(super) fn check_short(job: &mut Job<'_>, tool: Admitted<'_>) -> Result<(), ToolError> {
    let how = CheckOptions::new(job.policies, tool);
    guarded(|| run(tool.definition.checker(), how, None, job.arguments))?;
    debug!(gen_ai.tool.name = job.name, "arguments checked");
    Ok(())
}

/// The same for arguments of any length; the memory for long ones comes from the budget of the context.
pub(super) async fn check(job: &mut Job<'_>, tool: Admitted<'_>) -> Result<(), ToolError> {
    let runtime = Handle::try_current().ok().filter(|_| job.arguments.is_long());
    let Some(runtime) = runtime else { return check_short(job, tool) };
    let (how, checker) = (CheckOptions::new(job.policies, tool), tool.definition.checker().clone());
    let budget = job.context.typed::<MemoryBudget>().cloned();
    let Ok(permit) = unless_cancelled(job.context, CHECKING.acquire()).await? else {
        return Err(ToolError::cancelled());
    };
    // Moved and not shared, so that a text of which something is cut is not kept beside its copy.
    let mut arguments = std::mem::take(job.arguments);
    let checked = runtime.spawn_blocking(move || {
        let _permit = permit;
        let result = guarded(|| run(&checker, how, budget.as_ref(), &mut arguments));
        (arguments, result)
    });
    let (arguments, result) = checked.await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => ToolError::from_panic(panic),
        Err(_) => ToolError::cancelled().with_detail("the runtime is shutting down"),
    })?;
    *job.arguments = arguments;
    result?;
    // That took its time, and a tool that is ready at once would look for no cancellation.
    if job.context.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    debug!(gen_ai.tool.name = job.name, "arguments checked");
    Ok(())
}

/// How arguments are checked.
#[derive(Clone, Copy)]
struct CheckOptions {
    strictness: Strictness,
    /// Whether the tool checks all but names itself.
    names_only: bool,
    assert_formats: bool,
}

impl CheckOptions {
    fn new(policies: &Policies, tool: Admitted<'_>) -> Self {
        Self {
            strictness: policies.strictness,
            names_only: tool.metadata.checks_own_arguments() && !policies.assert_formats,
            assert_formats: policies.assert_formats,
        }
    }
}

fn run(
    checker: &ArgumentChecker,
    how: CheckOptions,
    budget: Option<&MemoryBudget>,
    arguments: &mut Arguments,
) -> Result<(), ToolError> {
    let text = arguments.as_str();
    let checked = if how.names_only {
        checker.check_object(text, how.strictness, budget)
    } else {
        checker.check_within(text, how.strictness, budget)
    };
    match checked {
        Ok(Cow::Borrowed(_)) => {}
        Ok(Cow::Owned(text)) => *arguments = Arguments::from(text),
        Err(unchecked) => return Err(error(unchecked)),
    }
    if how.assert_formats {
        checker.check_formats_within(arguments.as_str(), budget).map_err(error)?;
    }
    Ok(())
}

#[cold]
fn error(unchecked: Unchecked) -> ToolError {
    match unchecked {
        Unchecked::Refused(error) => error.into(),
        Unchecked::OutOfMemory => out_of_memory(),
    }
}

#[cold]
fn out_of_memory() -> ToolError {
    ToolError::unavailable("there is no memory left to check the arguments: try again, or send shorter ones")
        .with_retryable(true)
}
