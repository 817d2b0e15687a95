//! What the executor and the frontends need to know about a tool, and a model need not: [`ToolMetadata`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::converter::ResultConverter;
use crate::gate::Gate;
use crate::{CallEffect, Reconcile};

/// How calls of one tool may overlap with other calls of the same batch.
///
/// A call waits for others without a clock, because each of them ends by its own deadline. Only where one was given up while its
/// [thread](crate::ToolContext::run_blocking) goes on, and the tool is serial or exclusive, the wait ends after the time that the
/// waiting call itself may run, with an error that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concurrency {
    /// Any number of calls at once.
    #[default]
    Shared,
    /// Never two calls of this tool at once, in whichever batch they are.
    Serial,
    /// No other call of the batch at the same time.
    Exclusive,
}

/// Facts about a tool that steer how it is run and how its result is used.
///
/// Whether a tool is read-only, destructive, idempotent or open to the world has three values: yes, no, and not said
/// ([`read_only`](Self::read_only) and so on). The questions ([`is_read_only`](Self::is_read_only) and so on) answer "not said"
/// with the careful case: not read-only, destructive, not idempotent, open.
///
/// ```
/// use std::time::Duration;
/// use opentool_core::{Concurrency, ToolMetadata};
///
/// let metadata = ToolMetadata::new()
///     .with_destructive(true)
///     .with_approval(true)
///     .with_concurrency(Concurrency::Serial)
///     .with_timeout(Duration::from_secs(5));
/// assert!(metadata.is_destructive() && metadata.needs_approval());
/// assert_eq!((metadata.destructive(), metadata.idempotent()), (Some(true), None));
/// assert_eq!(metadata.timeout(), Some(Duration::from_secs(5)));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ToolMetadata {
    return_direct: bool,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    approval: bool,
    checks_own_arguments: bool,
    composite: bool,
    records_steps: bool,
    concurrency: Concurrency,
    /// The turn of a serial tool, shared by clones, so that it holds across batches and hosts.
    serial: Option<Arc<Gate>>,
    timeout: Option<Duration>,
    max_result_size: Option<usize>,
    call_limit: Option<u32>,
    converter: Option<Arc<dyn ResultConverter>>,
    reconcile: Option<Arc<dyn Reconcile>>,
}

impl ToolMetadata {
    /// Metadata of a tool about which nothing special is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            return_direct: false,
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            approval: false,
            checks_own_arguments: false,
            composite: false,
            records_steps: false,
            concurrency: Concurrency::Shared,
            serial: None,
            timeout: None,
            max_result_size: None,
            call_limit: None,
            converter: None,
            reconcile: None,
        }
    }

    /// Sets whether the result goes to the caller instead of back to the model.
    #[must_use]
    pub fn with_return_direct(mut self, return_direct: bool) -> Self {
        self.return_direct = return_direct;
        self
    }

    /// Says whether the tool changes nothing; `None` takes back what was said.
    #[must_use]
    pub fn with_read_only(mut self, read_only: impl Into<Option<bool>>) -> Self {
        self.read_only = read_only.into();
        self
    }

    /// Says whether the tool may destroy something; `None` takes back what was said.
    #[must_use]
    pub fn with_destructive(mut self, destructive: impl Into<Option<bool>>) -> Self {
        self.destructive = destructive.into();
        self
    }

    /// Says whether a second call with the same arguments changes nothing more; `None` takes back what was said.
    #[must_use]
    pub fn with_idempotent(mut self, idempotent: impl Into<Option<bool>>) -> Self {
        self.idempotent = idempotent.into();
        self
    }

    /// Says whether the tool reaches a world that the application does not know, such as the web; `None` takes back what was said.
    #[must_use]
    pub fn with_open_world(mut self, open_world: impl Into<Option<bool>>) -> Self {
        self.open_world = open_world.into();
        self
    }

    /// Sets whether each call needs approval.
    #[must_use]
    pub fn with_approval(mut self, approval: bool) -> Self {
        self.approval = approval;
        self
    }

    /// Sets how calls of the tool may overlap.
    ///
    /// Clones of serial metadata share their turn: give it to one tool, or to tools that must not run beside each other.
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self.serial = (concurrency == Concurrency::Serial).then(|| Gate::new(1));
        self
    }

    /// Sets how long a call may run, instead of the executor's default.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how many bytes a result may have, instead of the executor's default.
    #[must_use]
    pub fn with_max_result_size(mut self, bytes: usize) -> Self {
        self.max_result_size = Some(bytes);
        self
    }

    /// Sets how often the tool may be called in one turn, instead of the executor's default.
    #[must_use]
    pub fn with_call_limit(mut self, calls: u32) -> Self {
        self.call_limit = Some(calls);
        self
    }

    /// Sets what converts the tool's results, instead of the executor's default.
    #[must_use]
    pub fn with_converter(mut self, converter: impl ResultConverter) -> Self {
        self.converter = Some(Arc::new(converter));
        self
    }

    /// Sets what finds out, after a crash, whether a call of the tool had its effect.
    #[must_use]
    pub fn with_reconcile(mut self, reconcile: impl Reconcile) -> Self {
        self.reconcile = Some(Arc::new(reconcile));
        self
    }

    /// Declares that the tool checks its arguments itself and answers with the same kind of error.
    ///
    /// The executor then only sees to it that the arguments are a JSON object without duplicate keys.
    #[must_use]
    pub fn with_checks_own_arguments(mut self, checks: bool) -> Self {
        self.checks_own_arguments = checks;
        self
    }

    /// Declares that the tool does nothing but call other tools, through the [executor that runs it](crate::Executor::calling).
    ///
    /// The policies of the executor then hold for each of those calls: deadlines, approval and limits. The tool itself has no
    /// deadline unless it says so, and need not be approved because of what the others may destroy.
    ///
    /// In a run that is recorded, those calls are recorded too, each at its [place](crate::ToolContext::with_place). After a crash
    /// the tool itself runs again, and the records of its calls decide about them.
    #[must_use]
    pub fn with_composite(mut self, composite: bool) -> Self {
        self.composite = composite;
        self
    }

    /// Declares that the tool, called in a run that [can go on](crate::ToolContext::run_place), notes there what it does between the calls
    /// that it makes.
    ///
    /// After a crash it then runs again in such a run, as a [composite](Self::with_composite) tool does, and its records decide. It
    /// is approved and has deadlines like any other tool. A chat that is used as a tool is one.
    #[must_use]
    pub fn with_recorded_steps(mut self, records: bool) -> Self {
        self.records_steps = records;
        self
    }

    /// Says whether the result goes to the caller instead of back to the model.
    #[must_use]
    pub fn is_return_direct(&self) -> bool {
        self.return_direct
    }

    /// Returns what was said about whether the tool changes nothing.
    #[must_use]
    pub fn read_only(&self) -> Option<bool> {
        self.read_only
    }

    /// Returns what was said about whether the tool may destroy something.
    #[must_use]
    pub fn destructive(&self) -> Option<bool> {
        self.destructive
    }

    /// Returns what was said about whether a second call with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(&self) -> Option<bool> {
        self.idempotent
    }

    /// Returns what was said about whether the tool reaches a world that the application does not know.
    #[must_use]
    pub fn open_world(&self) -> Option<bool> {
        self.open_world
    }

    /// Says whether the tool is known to change nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only == Some(true)
    }

    /// Says whether the tool must be taken for destructive: it says so, or says neither that it is not nor that it is read-only.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destructive.unwrap_or(!self.is_read_only())
    }

    /// Says whether a second call with the same arguments is known to change nothing more.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent == Some(true)
    }

    /// Says whether the tool must be taken to reach a world that the application does not know: it does not say otherwise.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world != Some(false)
    }

    /// Says whether a call may be repeated without harm: the tool is known to be read-only or idempotent.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.is_read_only() || self.is_idempotent()
    }

    /// Says whether each call needs approval.
    #[must_use]
    pub fn needs_approval(&self) -> bool {
        self.approval
    }

    /// Returns how calls of the tool may overlap.
    #[must_use]
    pub fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    /// Returns how long a call may run, where the tool says so.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns how many bytes a result may have, where the tool says so.
    #[must_use]
    pub fn max_result_size(&self) -> Option<usize> {
        self.max_result_size
    }

    /// Returns how often the tool may be called in one turn, where the tool says so.
    #[must_use]
    pub fn call_limit(&self) -> Option<u32> {
        self.call_limit
    }

    /// Returns what converts the tool's results, where it has its own.
    #[must_use]
    pub fn converter(&self) -> Option<&dyn ResultConverter> {
        self.converter.as_deref()
    }

    /// Returns what finds out whether a call had its effect, where the tool can.
    #[must_use]
    pub fn reconcile(&self) -> Option<&dyn Reconcile> {
        self.reconcile.as_deref()
    }

    /// Returns what a call of the tool may do, as far as it is known.
    #[must_use]
    pub fn effect(&self) -> CallEffect {
        if self.composite {
            CallEffect::Composite
        } else if self.is_read_only() {
            CallEffect::ReadOnly
        } else if self.is_idempotent() {
            CallEffect::Idempotent
        } else {
            CallEffect::Other
        }
    }

    pub(crate) fn serial(&self) -> Option<&Arc<Gate>> {
        self.serial.as_ref()
    }

    /// Says whether the tool does nothing but call other tools.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.composite
    }

    /// Says whether the tool notes what it does in a run that can go on.
    #[must_use]
    pub fn records_steps(&self) -> bool {
        self.records_steps
    }

    /// Says whether the tool checks its arguments itself.
    #[must_use]
    pub fn checks_own_arguments(&self) -> bool {
        self.checks_own_arguments
    }
}

impl fmt::Debug for ToolMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolMetadata")
            .field("return_direct", &self.return_direct)
            .field("read_only", &self.read_only)
            .field("destructive", &self.destructive)
            .field("idempotent", &self.idempotent)
            .field("open_world", &self.open_world)
            .field("approval", &self.approval)
            .field("checks_own_arguments", &self.checks_own_arguments)
            .field("composite", &self.composite)
            .field("concurrency", &self.concurrency)
            .field("timeout", &self.timeout)
            .field("max_result_size", &self.max_result_size)
            .field("call_limit", &self.call_limit)
            .field("converter", &self.converter.as_ref().map(|_| "…"))
            .field("reconcile", &self.reconcile.as_ref().map(|_| "…"))
            .finish()
    }
}
