//! Calls with assertions: [`Probe`].

use serde_json::Value;

use crate::{Arguments, ErrorKind, Executor, Host, IntoToolSource, Outcome, ToolCall, ToolContext, ToolOutput};

/// Calls tools as the executor would, for tests: with every check, and with nothing in between.
#[derive(Clone, Debug)]
pub struct Probe {
    host: Host,
    context: ToolContext,
}

impl Probe {
    /// Takes tools, or whatever yields them, with the default executor and an empty context.
    pub fn new<M>(source: impl IntoToolSource<M>) -> Self {
        Self::with(&Executor::default(), source)
    }

    /// Takes tools with an executor.
    pub fn with<M>(executor: &Executor, source: impl IntoToolSource<M>) -> Self {
        Self { host: executor.host(source), context: ToolContext::new() }
    }

    /// Sets the context of the calls.
    #[must_use]
    pub fn context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }

    /// Calls a tool.
    pub async fn call(&self, name: &str, arguments: impl Into<Arguments>) -> Answer {
        Answer(self.host.run(ToolCall::new("probe", name, arguments), &self.context).await)
    }

    /// Asserts that the published schema of a tool contains everything that the expected one says.
    ///
    /// # Panics
    ///
    /// Where there is no such tool, the tools must be asked for, or the schema differs.
    #[track_caller]
    pub fn assert_schema(&self, name: &str, expected: impl Into<Value>) {
        let expected = expected.into();
        let Some(toolbox) = self.host.source().fixed() else { panic!("the tools must be asked for: {:?}", self.host) };
        let Some(tool) = toolbox.get(name) else { panic!("there is no tool named `{name}` in {toolbox:?}") };
        let actual = tool.definition().input_schema();
        if let Some(pointer) = difference(actual, &expected, String::new()) {
            panic!("the schema of `{name}` differs at `{pointer}`:\n  actual {actual}\nexpected {expected}");
        }
    }
}

/// Finds where the actual value lacks something of the expected one.
fn difference(actual: &Value, expected: &Value, pointer: String) -> Option<String> {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => expected.iter().find_map(|(key, expected)| {
            let pointer = format!("{pointer}/{key}");
            match actual.get(key) {
                Some(actual) => difference(actual, expected, pointer),
                None => Some(pointer),
            }
        }),
        _ => (actual != expected).then_some(pointer),
    }
}

/// The outcome of a call made by a [`Probe`]; each assertion returns it for the next.
#[derive(Clone, Debug)]
#[must_use = "an answer that is not looked at proves nothing"]
pub struct Answer(Outcome);

impl Answer {
    /// Returns the outcome.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.0
    }

    /// Returns the output.
    ///
    /// # Panics
    ///
    /// Where the call failed.
    #[track_caller]
    #[must_use]
    pub fn output(&self) -> &ToolOutput {
        match &self.0.result {
            Ok(output) => output,
            Err(error) => panic!("the call failed: {error:?}"),
        }
    }

    /// Asserts that the output is this text.
    ///
    /// # Panics
    ///
    /// Where it is not.
    #[track_caller]
    pub fn assert_text(&self, expected: &str) -> &Self {
        assert_eq!(*self.output(), ToolOutput::text(expected));
        self
    }

    /// Asserts that the output is this JSON value.
    ///
    /// # Panics
    ///
    /// Where it is not.
    #[track_caller]
    pub fn assert_json(&self, expected: impl Into<Value>) -> &Self {
        let ToolOutput::Json(actual) = self.output() else { panic!("the output is no JSON: {:?}", self.output()) };
        match serde_json::from_str::<Value>(actual.get()) {
            Ok(actual) => assert_eq!(actual, expected.into()),
            Err(error) => panic!("the output is no JSON: {error}"),
        }
        self
    }

    /// Asserts that there is no value.
    ///
    /// # Panics
    ///
    /// Where there is one.
    #[track_caller]
    pub fn assert_empty(&self) -> &Self {
        assert_eq!(*self.output(), ToolOutput::Empty);
        self
    }

    /// Asserts that the call failed for this reason.
    ///
    /// # Panics
    ///
    /// Where it did not.
    #[track_caller]
    pub fn assert_error(&self, kind: ErrorKind) -> &Self {
        match &self.0.result {
            Err(error) => assert_eq!(error.kind(), kind, "{error:?}"),
            Ok(output) => panic!("the call succeeded: {output:?}"),
        }
        self
    }

    /// Asserts that the call failed and the model sees this.
    ///
    /// # Panics
    ///
    /// Where it is not.
    #[track_caller]
    pub fn assert_message(&self, message: &str) -> &Self {
        match &self.0.result {
            Err(error) => assert_eq!(error.message(), message),
            Ok(output) => panic!("the call succeeded: {output:?}"),
        }
        self
    }
}
