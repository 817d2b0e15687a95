//! A document, ready to run: every name is looked up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use opentool_spec::{OpenWorkflow, StepPart, StepReference, WorkflowStep};
use serde_json::{Value, value::RawValue};

use super::error::WorkflowError;
use super::values::{ResultType, StepValues};

/// The steps of a workflow, of which the first is where a run begins.
#[derive(Debug)]
pub(super) struct WorkflowPlan {
    pub(super) steps: Vec<PlannedStep>,
}

/// A step that can run.
#[derive(Debug)]
pub(super) struct PlannedStep {
    pub(super) name: Arc<str>,
    pub(super) function: Arc<str>,
    arguments: Vec<(String, PlannedArgument)>,
    pub(super) results: Vec<(String, ResultType)>,
    /// The step after this one; none where the run ends.
    pub(super) next: Option<usize>,
}

#[derive(Debug)]
enum PlannedArgument {
    /// A value, as JSON.
    Constant(String),
    /// What another step has.
    Taken { step: usize, part: StepPart, key: String },
}

impl WorkflowPlan {
    /// Checks a document, which may never have been a text, and plans it.
    pub(super) fn new(document: &OpenWorkflow) -> Result<Self, WorkflowError> {
        Ok(Self::of_checked(&serde_json::to_string(document)?.parse()?))
    }

    /// Plans the steps that run, in their order; what is wrong with a document was found by its check.
    pub(super) fn of_checked(checked: &OpenWorkflow) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut order: Vec<(&String, &WorkflowStep)> = Vec::new();
        let mut at = checked.workflow.get_key_value(OpenWorkflow::START);
        while let Some((name, step)) = at.filter(|(name, _)| !places.contains_key(name.as_str())) {
            places.insert(name, order.len());
            order.push((name, step));
            at = checked.workflow.get_key_value(&step.next);
        }
        let steps = order.into_iter().map(|(name, step)| PlannedStep::new(name, step, &places)).collect();
        Self { steps }
    }

    /// The functions that are called, each once.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Arc<str>> {
        let mut seen = HashSet::new();
        self.steps.iter().map(|step| &step.function).filter(move |function| seen.insert(*function))
    }

    /// How many steps a run has; none where it goes round for ever.
    pub(super) fn length(&self) -> Option<usize> {
        self.steps.iter().any(|step| step.next.is_none()).then_some(self.steps.len())
    }
}

impl PlannedStep {
    fn new(name: &str, step: &WorkflowStep, places: &HashMap<&str, usize>) -> Self {
        let arguments = step.arguments.iter().map(|(key, value)| (key.clone(), PlannedArgument::new(value, places)));
        Self {
            name: name.into(),
            function: step.function.as_str().into(),
            arguments: arguments.collect(),
            results: step.results.iter().map(|(key, default)| (key.clone(), ResultType::of_default(default))).collect(),
            next: places.get(step.next.as_str()).copied(),
        }
    }

    /// The arguments as JSON, with what other steps have; an error names what is not there.
    pub(super) fn arguments(&self, values: &[Option<StepValues>]) -> Result<String, String> {
        let mut json = String::from("{");
        for (index, (name, argument)) in self.arguments.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&opentool_spec::json::quoted(name));
            json.push(':');
            match argument {
                PlannedArgument::Constant(value) => json.push_str(value),
                PlannedArgument::Taken { step, part, key } => {
                    let taken = values.get(*step).and_then(Option::as_ref).and_then(|values| values.get(*part, key));
                    let missing =
                        || format!("the argument `{name}` refers to {} `{key}`, which is not there", part.described());
                    json.push_str(taken.map(RawValue::get).ok_or_else(missing)?);
                }
            }
        }
        json.push('}');
        Ok(json)
    }
}

impl PlannedArgument {
    fn new(value: &Value, places: &HashMap<&str, usize>) -> Self {
        if let Some(Some(Ok(reference))) = value.as_str().map(StepReference::parse)
            && let Some(step) = places.get(&*reference.step)
        {
            return Self::Taken { step: *step, part: reference.part, key: reference.key.into_owned() };
        }
        Self::Constant(value.to_string())
    }
}
