//! Workflows: their steps, the order in which they run, and what they take from each other.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};
use indexmap::IndexSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must},
};
use crate::{
    json::near::misspelt,
    model::{OpenWorkflow, StepPart, StepReference},
    tree::{Kind, NodeId, json_string, quote},
};

/// How many names are compared for "did you mean", for one name and for all of a document.
const COMPARED: usize = 500;
const COMPARED_IN_ALL: usize = 50_000;

/// What people write for "no next step", besides `null`.
const ENDS: [&str; 5] = ["null", "", "end", "none", "stop"];

/// A step, with its parts as far as they have the right type.
struct Step<'a> {
    name: Cow<'a, str>,
    node: NodeId,
    function: Option<Cow<'a, str>>,
    arguments: Option<NodeId>,
    results: Option<NodeId>,
    next: Option<NodeId>,
}

/// The steps of a workflow, and when each runs.
struct Steps<'a> {
    list: Vec<Step<'a>>,
    by_name: HashMap<Cow<'a, str>, usize>,
    /// The place of a step in the order of a run; none where it never runs.
    order: Vec<Option<usize>>,
    /// The names that the arguments or results of a step have, once they were asked for.
    keys: HashMap<NodeId, IndexSet<Cow<'a, str>>>,
}

impl<'a> Checker<'_, 'a> {
    /// Checks a workflow.
    pub(super) fn workflow_document(&mut self, root: NodeId) {
        let fields = [must("openworkflow", Kind::String), must("info", Kind::Object), must("workflow", Kind::Object)];
        let document = self.object("document", root, fields, &["$schema"]);
        self.version(&document);
        let info = || r#"{"title": "Untitled", "version": "1.0.0"}"#.to_owned();
        if let Some(info) = self.required(&document, 1, info) {
            self.info(info);
        }
        let workflow = || {
            let step = r#"{"function": "sleep", "arguments": {"milliseconds": 0}, "results": {}, "next": "null"}"#;
            format!(r#"{{"start": {step}}}"#)
        };
        let Some(workflow) = self.required(&document, 2, workflow) else { return };
        let members = self.tree.children(workflow).collect();
        let list: Vec<_> = self.last_of_each_key(members).into_iter().filter_map(|step| self.step(step)).collect();
        let by_name = list.iter().enumerate().map(|(index, step)| (step.name.clone(), index)).collect();
        let mut steps = Steps { order: vec![None; list.len()], list, by_name, keys: HashMap::new() };
        let runs = self.run_order(workflow, &mut steps);
        for index in 0..steps.list.len() {
            self.step_references(&mut steps, index, runs);
            self.step_results(&steps.list[index]);
        }
    }

    /// The fields of a step; none where it is no object.
    fn step(&mut self, node: NodeId) -> Option<Step<'a>> {
        let tree = self.tree;
        let name = tree.key(node);
        if tree.kind(node) != Kind::Object {
            let message = format!("the step {} must be an object, not {}", quote(&name), tree.kind(node).described());
            let help = "write an object with `function`, `arguments`, `results` and `next`".to_owned();
            self.report(Code::WrongType, At::Value(node), message, Some(help));
            return None;
        }
        let fields = [
            must("function", Kind::String),
            may("description", Kind::String),
            must("arguments", Kind::Object),
            must("results", Kind::Object),
            must("next", Kind::String),
        ];
        let object = self.object("step", node, fields, &[]);
        let function = self.required(&object, 0, || json_string("function_name")).and_then(|name| tree.string(name));
        self.optional_member(&object, 1);
        let [arguments, results] = [2, 3].map(|index| self.required_map(&object, index));
        let next = match object.members[4] {
            // Many take `null` for the word.
            Some(null) if tree.kind(null) == Kind::Null => {
                let message = "`next` must be a string, not null".to_owned();
                self.fix(Code::WrongType, At::Value(null), message, Remedy::Replace(null, json_string("null")));
                None
            }
            _ => self.required(&object, 4, || json_string("null")),
        };
        Some(Step { name, node, function, arguments, results, next })
    }

    /// A field of a step that maps names to values; absent and null mean that there are none.
    fn required_map(&mut self, step: &SpecObject<5>, index: usize) -> Option<NodeId> {
        let name = step.fields[index].name;
        match step.members[index] {
            None => {
                let message = format!("the step has no `{name}`");
                let remedy = Remedy::Add(step.node, name, "{}".to_owned());
                self.fix(Code::MissingField, At::Value(step.node), message, remedy);
                None
            }
            Some(null) if self.tree.kind(null) == Kind::Null => {
                let message = format!("`{name}` must be an object, not null");
                self.fix(Code::WrongType, At::Value(null), message, Remedy::Replace(null, "{}".to_owned()));
                None
            }
            Some(_) => self.required(step, index, || "{}".to_owned()),
        }
    }

    /// Follows the steps as a run does, and reports where that goes wrong. Returns whether there is a run.
    fn run_order(&mut self, workflow: NodeId, steps: &mut Steps<'a>) -> bool {
        let Some(start) = steps.by_name.get(OpenWorkflow::START).copied() else {
            if self.tree.get(workflow, OpenWorkflow::START).is_some() {
                return false; // it is no object, which has been reported
            }
            let message = "the workflow has no step `start`, with which a run begins".to_owned();
            let help = match self.near(OpenWorkflow::START, steps.list.iter().map(|step| &step.name)) {
                Some(meant) => format!("did you mean {}? Name it `start`", quote(&meant)),
                None => "name the first step `start`".to_owned(),
            };
            self.report(Code::NoStart, At::Value(workflow), message, Some(help));
            return false;
        };
        let mut at = Some(start);
        let mut place = 0;
        while let Some(index) = at {
            steps.order[index] = Some(place);
            place += 1;
            at = self.step_after(steps, index);
        }
        for (index, step) in steps.list.iter().enumerate() {
            if steps.order[index].is_none() {
                let message = format!("no step leads to {}: it never runs", quote(&step.name));
                let help = "let the `next` of another step name it, or remove it".to_owned();
                self.report(Code::UnreachableStep, At::Key(step.node), message, Some(help));
            }
        }
        true
    }

    /// The step that runs after another; none where the run ends, or would go on for ever.
    fn step_after(&mut self, steps: &Steps<'a>, index: usize) -> Option<usize> {
        let next = steps.list[index].next?;
        let name = self.tree.string(next)?;
        let Some(after) = steps.by_name.get(&name).copied() else {
            if ENDS.contains(&name.to_ascii_lowercase().as_str()) {
                return None;
            }
            let meant = self.near(&name, steps.list.iter().map(|step| &step.name))?;
            let message = format!("{} names no step, so that the run ends here", quote(&name));
            let help = format!("did you mean {}? Write `\"null\"` where the run is to end", quote(&meant));
            let edit = self.tree.replace_value(next, json_string(&meant));
            self.suggest(Code::MisspeltNext, At::Value(next), message, Remedy::Edits(help, vec![edit]));
            // What is meant is not also reported as a step that never runs.
            return steps.by_name.get(&meant).copied().filter(|meant| steps.order[*meant].is_none());
        };
        if steps.order[after].is_some() {
            let message = format!(
                "the step leads back to {}, so that a run never ends by itself: the limits of a turn end it with an error",
                quote(&name)
            );
            let help = "write `\"null\"` where the run is to end".to_owned();
            self.report(Code::EndlessLoop, At::Value(next), message, Some(help));
            return None;
        }
        Some(after)
    }

    /// The arguments of a step that are taken from other steps.
    fn step_references(&mut self, steps: &mut Steps<'a>, index: usize, runs: bool) {
        let tree = self.tree;
        let Some(arguments) = steps.list[index].arguments else { return };
        for argument in self.last_of_each_key(tree.children(arguments).collect()) {
            if let Some(text) = tree.string(argument) {
                self.step_reference(steps, index, argument, &text, runs);
                continue;
            }
            let mut containers = vec![argument];
            while let Some(container) = containers.pop() {
                if !tree.kind(container).is_container() {
                    continue;
                }
                for inner in tree.children(container) {
                    let text = tree.string(inner);
                    if let Some(Some(Ok(_))) = text.as_deref().map(StepReference::parse) {
                        let text = quote(text.as_deref().unwrap_or_default());
                        let message = format!("{text} is inside an argument, where references are not replaced");
                        let help = "only a whole argument can be a reference; let a function put values together";
                        self.report(Code::NestedReference, At::Value(inner), message, Some(help.to_owned()));
                    }
                    containers.push(inner);
                }
            }
        }
    }

    /// A text that is a whole argument, and a reference where it begins with `#/`.
    fn step_reference(&mut self, steps: &mut Steps<'a>, index: usize, node: NodeId, text: &str, runs: bool) {
        let (code, at) = (Code::UnknownStepReference, At::Value(node));
        let reference = match StepReference::parse(text) {
            None => return,
            Some(Ok(reference)) => reference,
            Some(Err(error)) => {
                self.report(code, at, format!("{} is no reference: {error}", quote(text)), None);
                return;
            }
        };
        let Some(target) = steps.by_name.get(&reference.step).copied() else {
            let message = format!("{} refers to the step {}, which is not there", quote(text), quote(&reference.step));
            let meant = self.near(&reference.step, steps.list.iter().map(|step| &step.name));
            let meant = meant.map(|step| StepReference { step, ..reference });
            self.suggest_reference(node, message, meant);
            return;
        };
        let part = match reference.part {
            StepPart::Results => steps.list[target].results,
            StepPart::Arguments => steps.list[target].arguments,
        };
        // What is wrong with the part itself is reported there.
        let Some(part) = part else { return };
        let tree = self.tree;
        let keys = steps.keys.entry(part).or_insert_with(|| tree.children(part).map(|key| tree.key(key)).collect());
        if !keys.contains(&reference.key) {
            let what = reference.part.as_str().trim_end_matches('s');
            let message = format!(
                "{} refers to the {what} {}, which the step {} does not have",
                quote(text),
                quote(&reference.key),
                quote(&reference.step)
            );
            let meant = self.near(&reference.key, keys.iter());
            let meant = meant.map(|key| StepReference { key, ..reference });
            self.suggest_reference(node, message, meant);
            return;
        }
        let (Some(own), true) = (steps.order[index], runs) else { return };
        let why = match steps.order[target] {
            Some(place) if place < own => return,
            Some(place) if place == own => "which is this step itself",
            Some(_) => "which runs after this one",
            None => "which never runs",
        };
        let message = format!("{} refers to the step {}, {why}", quote(text), quote(&reference.step));
        let help = "a reference is to a step that has run before".to_owned();
        self.report(Code::ReferenceTooEarly, at, message, Some(help));
    }

    fn suggest_reference(&mut self, node: NodeId, message: String, meant: Option<StepReference<'_>>) {
        let (code, at) = (Code::UnknownStepReference, At::Value(node));
        match meant {
            Some(meant) => {
                let edit = self.tree.replace_value(node, json_string(&meant.to_string()));
                let help = format!("did you mean {}?", quote(&meant.to_string()));
                self.suggest(code, at, message, Remedy::Edits(help, vec![edit]));
            }
            None => self.report(code, at, message, None),
        }
    }

    /// The defaults of a step's results, whose types the results must have.
    fn step_results(&mut self, step: &Step<'a>) {
        let tree = self.tree;
        let Some(results) = step.results else { return };
        let sleeps = step.function.as_deref() == Some(OpenWorkflow::SLEEP);
        for result in self.last_of_each_key(tree.children(results).collect()) {
            let name = quote(&tree.key(result));
            if sleeps {
                let message = format!("`sleep` has no result {name}: it has none at all");
                let help = "write `\"results\": {}`".to_owned();
                self.report(Code::ResultType, At::Key(result), message, Some(help));
            } else if tree.kind(result) == Kind::Null {
                let message = format!("the default of {name} is null, so that no other result passes");
                let help = "write a value of the type that the result has, such as 0, \"\", false, [] or {}".to_owned();
                self.report(Code::NullResult, At::Value(result), message, Some(help));
            }
        }
    }

    /// The name that is nearly another one, within the budget of comparisons.
    fn near<'n>(&mut self, name: &str, known: impl Iterator<Item = &'n Cow<'a, str>>) -> Option<Cow<'a, str>>
    where
        'a: 'n,
    {
        let budget = COMPARED.min(COMPARED_IN_ALL.saturating_sub(self.references.compared));
        let known: Vec<_> = known.take(budget).collect();
        self.references.compared += known.len();
        let meant = misspelt(name, known.iter().map(|known| &***known))?;
        known.into_iter().find(|known| **known == meant).cloned()
    }
}
