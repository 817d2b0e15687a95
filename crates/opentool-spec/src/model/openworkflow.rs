//! The OpenWorkflow document, 1.0.0: the format that the introduction of OpenDyn names.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::Value;

use super::{object::object, opentool::Info};
use crate::{json::pointer, map::Map};

object! {
    /// An OpenWorkflow document: calls of functions in a fixed order.
    ///
    /// This is the linear format of the OpenTool family (LiteVar), and neither the TypeScript library nor the YAML draft of
    /// the same name. A run begins at the step [`START`](Self::START) and follows `next` until that names no step.
    ///
    /// ```
    /// use opentool_spec::{Info, OpenWorkflow, WorkflowStep};
    /// use serde_json::json;
    ///
    /// let document = OpenWorkflow::new(Info::new("Store and look", "1.0.0"))
    ///     .step("start", WorkflowStep::new("create").argument("key", json!("a")).result("id", json!(0)).then("look"))
    ///     .step("look", WorkflowStep::new("read").argument("id", json!("#/start/results/id")));
    /// assert_eq!(document, serde_json::to_string(&document)?.parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct OpenWorkflow {
        /// The version of the spec the document follows.
        "openworkflow" => openworkflow: required String,
        /// What the document is about.
        "info" => info: required Info,
        /// The steps, by name.
        "workflow" => workflow: required IndexMap<String, WorkflowStep>,
    }
}

object! {
    /// A step of a workflow: one call.
    pub struct WorkflowStep {
        /// The name of the function.
        "function" => function: required String,
        /// What the step is for.
        "description" => description: optional String,
        /// The arguments, by name. A text that begins with `#/` is a [`StepReference`].
        "arguments" => arguments: default Map = Map::new(),
        /// The results that the call must have, by name, each with a default whose type the result must have.
        "results" => results: default Map = Map::new(),
        /// The name of the next step; a text that names none, usually `null`, ends the run.
        "next" => next: default String = OpenWorkflow::END.to_owned(),
    }
}

impl OpenWorkflow {
    /// The version of the spec that this crate writes.
    pub const VERSION: &'static str = "1.0.0";

    /// The step with which a run begins.
    pub const START: &'static str = "start";

    /// What `next` usually is where the run ends: a text that names no step.
    pub const END: &'static str = "null";

    /// The function that every workflow has: it waits for so many `milliseconds`.
    pub const SLEEP: &'static str = "sleep";

    /// A document without steps.
    pub fn new(info: Info) -> Self {
        OpenWorkflow {
            openworkflow: OpenWorkflow::VERSION.to_owned(),
            info,
            workflow: IndexMap::new(),
            extra: Default::default(),
            layout: Default::default(),
        }
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, name: impl Into<String>, step: WorkflowStep) -> Self {
        self.workflow.insert(name.into(), step);
        self
    }
}

impl WorkflowStep {
    /// A call of a function without arguments, after which the run ends.
    pub fn new(function: impl Into<String>) -> Self {
        WorkflowStep {
            function: function.into(),
            description: None,
            arguments: Map::new(),
            results: Map::new(),
            next: OpenWorkflow::END.to_owned(),
            extra: Default::default(),
            layout: Default::default(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.into(), value.into());
        self
    }

    /// Adds a result, by a default whose type it must have.
    #[must_use]
    pub fn result(mut self, name: impl Into<String>, default: impl Into<Value>) -> Self {
        self.results.insert(name.into(), default.into());
        self
    }

    /// Sets the next step.
    #[must_use]
    pub fn then(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }
}

/// What a step has by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepPart {
    /// What its call answered.
    Results,
    /// What its call was given.
    Arguments,
}

impl StepPart {
    /// The key of a step that holds it.
    pub const fn as_str(self) -> &'static str {
        match self {
            StepPart::Results => "results",
            StepPart::Arguments => "arguments",
        }
    }

    /// One of them, with its article.
    pub const fn described(self) -> &'static str {
        match self {
            StepPart::Results => "a result",
            StepPart::Arguments => "an argument",
        }
    }
}

/// A reference to a value of an earlier step: `#/STEP/results/KEY` or `#/STEP/arguments/KEY`.
///
/// It stands for the whole of an argument. As in JSON pointers, `~1` stands for a slash in a name and `~0` for a tilde.
///
/// ```
/// use opentool_spec::{StepPart, StepReference};
///
/// let reference = StepReference::parse("#/step2/results/id").unwrap()?;
/// assert_eq!((&*reference.step, reference.part, &*reference.key), ("step2", StepPart::Results, "id"));
/// assert!(StepReference::parse("step2").is_none(), "a text like any other");
/// # Ok::<(), opentool_spec::StepReferenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StepReference<'a> {
    /// The name of the step.
    pub step: Cow<'a, str>,
    /// Where in the step.
    pub part: StepPart,
    /// The name of the result or argument.
    pub key: Cow<'a, str>,
}

/// Why a text that begins with `#/` is no reference to a value of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepReferenceError {
    /// It has not the form of one.
    #[error("a text that begins with `#/` must be `#/STEP/results/KEY` or `#/STEP/arguments/KEY`")]
    Form,
    /// It leads inside a value.
    #[error("it leads inside a value, and only a whole result or argument can be referred to")]
    Inside,
}

impl<'a> StepReference<'a> {
    /// Reads a reference; none where the text does not begin with `#/`.
    pub fn parse(text: &'a str) -> Option<Result<Self, StepReferenceError>> {
        let mut tokens = text.strip_prefix("#/")?.split('/');
        let (step, part, key) = (tokens.next(), tokens.next(), tokens.next());
        let part = match part {
            Some("results") => StepPart::Results,
            Some("arguments") => StepPart::Arguments,
            _ => return Some(Err(StepReferenceError::Form)),
        };
        let (Some(step), Some(key)) = (step, key) else { return Some(Err(StepReferenceError::Form)) };
        if tokens.next().is_some() {
            return Some(Err(StepReferenceError::Inside));
        }
        Some(Ok(StepReference { step: pointer::unescape(step), part, key: pointer::unescape(key) }))
    }
}

impl std::fmt::Display for StepReference<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = "#".to_owned();
        for token in [&*self.step, self.part.as_str(), &*self.key] {
            pointer::push(&mut text, token);
        }
        f.write_str(&text)
    }
}
