//! `opentool runs`: what a journal recorded, and decisions about calls that were interrupted.

mod fork;

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use jiff::{Timestamp, tz::TimeZone};
use opentool::{ApprovalDecision, Decision, RunStep, ToolOutput, UncertainDecision, WaitsFor};
use opentool_chat::{
    Message,
    run_steps::{self, AnswerStep, EndStep, MemoryStep, RequestStep, RoundStep, SuspendedStep},
};
use opentool_journal::{CallRecord, Redaction, RunEvent, RunRecord, RunSummary, SqliteJournal, StepRecord};
use serde_json::{Value, json};

use super::{chat::Chat, json_always::JsonAlways};
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    output::as_json,
    report::counted,
    runtime::block_on,
    terminal::{note, visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool runs --journal calls.sqlite                        The newest runs
  opentool runs --journal calls.sqlite show RUN               What happened in one, in order
  opentool runs --journal calls.sqlite decide RUN 0 --happened '{\"id\":7}'
  opentool runs --journal calls.sqlite decide RUN 0 --again   … or --give-up REASON
  opentool runs --journal runs.sqlite decide RUN 1.0 --approve        A call that waits for approval
  opentool runs --journal runs.sqlite resume RUN              Go on with a chat
  opentool runs --journal calls.sqlite export RUN --redact token > run.jsonl

A call that began and has no outcome is uncertain, unless its tool is read-only or idempotent: it never runs
again by itself. Look whether it had its effect, then decide: it happened with this result, it runs
again the next time it is asked for, or it is given up. A chat that waits for it goes on with `resume`.

With --json, there is one object a line: {id, kind, title, state, shown_state, calls, …}.

Exit codes: 0 done; 1 you said no; 2 wrong usage, opentool cannot ask and --yes was not given, or the journal cannot be used.";

const LIST: &str = "\
Examples:
  opentool runs list --journal calls.sqlite
  opentool runs list --journal calls.sqlite --limit 5 --json

With --json, there is one object a line: {id, kind, title, state, shown_state, calls, …}.

Exit codes: 0 listed; 2 wrong usage, or the journal cannot be used.";

const SHOW: &str = "\
Examples:
  opentool runs show --journal calls.sqlite RUN
  opentool runs show --journal calls.sqlite RUN --json

With --json, there is an object {run, shown_state, steps, calls}, and each of the calls is {place, call_id, tool, effect, state, \
attempt, arguments, begun_ms, ended_ms, outcome, decision}.

Exit codes: 0 shown; 2 wrong usage, no such run, or the journal cannot be used.";

const DECIDE: &str = "\
Examples:
  opentool runs decide --journal calls.sqlite RUN 0 --happened '{\"id\":7}'
  opentool runs decide --journal calls.sqlite RUN 0 --again
  opentool runs decide --journal calls.sqlite RUN 0 --give-up 'the order was cancelled by hand'
  opentool runs decide --journal runs.sqlite RUN 1.0 --approve

With --json, there is an object {run, place, decision}; the decision is approve, deny, edit, happened, again or give-up.

Exit codes: 0 decided; 2 wrong usage, no such call, or the journal cannot be used.";

const FORK: &str = "\
Examples:
  opentool runs fork --journal calls.sqlite RUN 3            A new run with the first three steps

Standard output: the id of the new run. With --json, there is an object {run}.

Exit codes: 0 made; 1 you said no; 2 wrong usage, no such run, opentool cannot ask and --yes was not given, or the \
journal cannot be used.";

const EXPORT: &str = "\
Examples:
  opentool runs export --journal calls.sqlite RUN > run.jsonl

Standard output, with --json and without: JSON Lines, the run first, then its steps and calls.

Exit codes: 0 printed; 2 wrong usage, no such run, or the journal cannot be used.";

const DELETE: &str = "\
Examples:
  opentool runs delete --journal calls.sqlite RUN

With --json, there is an object {run}.

Exit codes: 0 deleted; 2 wrong usage, no such run, or the journal cannot be used.";

const RESUME_EXAMPLES: &str = "\
Examples:
  opentool runs resume --journal runs.sqlite RUN              With its model and its sources
  opentool runs resume --journal runs.sqlite RUN --yes        … and every call is approved
  opentool runs resume --journal runs.sqlite RUN http://127.0.0.1:9627 --model ollama:qwen3

What the model answered and what calls had as their outcome is not asked or run again. A run that is over prints its
answer. Keys, commands of MCP servers, C libraries and what they may do are not in a journal: give them again.

With --json, there is the object of `opentool chat --json`.

Exit codes: 0 answered; 1 the model or a tool ended the turn with an error; 2 wrong usage, no such run, or the journal cannot
be used; 3 a model or a source cannot be reached; 4 one of them refused the API key; 5 the answer is cut off; 6 the answer is
withheld; 7 calls wait for a decision; 130 interrupted.";

/// Look at the runs of a journal, and decide about interrupted calls
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_negates_reqs = true)]
pub(super) struct Runs {
    /// The journal: the file of `--journal FILE` of `opentool chat` and `opentool serve`
    #[arg(long, value_name = "FILE", global = true)]
    journal: Option<PathBuf>,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<RunsCommand>,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the newest runs
    #[command(after_help = LIST)]
    List(List),
    /// Show what happened in a run, in order
    #[command(after_help = SHOW)]
    Show {
        /// The id of the run
        run: String,
        /// Print JSON; its shape is described below
        #[arg(long)]
        json: bool,
    },
    /// Decide about a call that waits for approval, or that is uncertain
    #[command(after_help = DECIDE)]
    Decide(Decide),
    /// Go on with a chat that was interrupted or waits
    #[command(after_help = RESUME_EXAMPLES, override_usage = "opentool runs --journal FILE resume RUN [OPTIONS] [SOURCE]...")]
    Resume(Box<Resume>),
    /// Make a new run of the first steps of another one; asks where calls with effects may run again
    #[command(after_help = FORK)]
    Fork {
        /// The id of the run
        run: String,
        /// How many steps the new run has
        step: i64,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print JSON; its shape is described below
        #[arg(long)]
        json: bool,
    },
    /// Print a run as JSON Lines, without secrets: arguments that their schema calls `writeOnly` or `format: password`
    #[command(after_help = EXPORT)]
    Export {
        /// The id of the run
        run: String,
        /// Take the values of members of this name out, too; repeatable
        #[arg(long, value_name = "NAME")]
        redact: Vec<String>,
        #[command(flatten)]
        json: JsonAlways,
    },
    /// Delete a run
    #[command(after_help = DELETE)]
    Delete {
        /// The id of the run
        run: String,
        /// Print JSON; its shape is described below
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args, Default)]
struct List {
    /// How many, the newest first
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Decide {
    /// The id of the run
    run: String,
    /// The place of the call, as `show` has it
    place: String,
    #[command(flatten)]
    decision: DecisionOptions,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Resume {
    /// The id of the run
    run: String,
    #[command(flatten)]
    chat: Chat,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionOptions {
    /// It may run
    #[arg(long)]
    approve: bool,
    /// It does not run, and the model gets this reason
    #[arg(long, value_name = "REASON")]
    deny: Option<String>,
    /// It may run with these arguments, which the model gets to see
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
    /// It happened, with this result: JSON, or a text
    #[arg(long, value_name = "RESULT")]
    happened: Option<String>,
    /// It runs again the next time it is asked for, and may happen twice
    #[arg(long)]
    again: bool,
    /// It is given up, for this reason
    #[arg(long, value_name = "REASON")]
    give_up: Option<String>,
}

impl Runs {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let Some(path) = &self.journal else {
            return Err(Failure::usage(
                "`opentool runs` needs `--journal FILE`: the file of `opentool serve --journal FILE`",
            ));
        };
        if let Some(RunsCommand::Resume(resume)) = &self.command {
            return resume.chat.recorded(Some(path.clone()), Some(resume.run.clone())).run();
        }
        if !path.exists() {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Failure::Read { name: path.display().to_string(), source });
        }
        let text = block_on(async {
            let journal = SqliteJournal::open(path).await.map_err(Failure::journal)?;
            let done = self.work(&journal).await;
            journal.close().await;
            done
        })?;
        if text.is_empty() && matches!(self.command, Some(RunsCommand::Fork { .. })) {
            note(&"not forked");
            return Ok(ExitStatus::Errors);
        }
        write_data(&text).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }

    /// Does what the command line says, and returns what it prints.
    async fn work(&self, journal: &SqliteJournal) -> Result<String, Failure> {
        let default = RunsCommand::List(List { limit: 50, json: self.json });
        match self.command.as_ref().unwrap_or(&default) {
            RunsCommand::List(list) => {
                let runs = journal.runs(list.limit).await.map_err(Failure::journal)?;
                Ok(if list.json { to_lines(&runs) } else { table(&runs) })
            }
            RunsCommand::Show { run, json } => {
                let record = journal.run(run).await.map_err(Failure::journal)?;
                Ok(if *json { as_value(&record) } else { timeline(&record) })
            }
            RunsCommand::Decide(Decide { run, place, decision: options, json }) => {
                match options.decision()? {
                    Decided::Approval(decision) => journal.decide_approval(run, place, decision).await,
                    Decided::Outcome(decision) => journal.decide_call(run, place, decision).await,
                }
                .map_err(Failure::journal)?;
                if *json {
                    return Ok(to_line(&json!({ "run": run, "place": place, "decision": options.name() })));
                }
                note(&format_args!("decided about call {} of run {}", visible(place), visible(run)));
                Ok(String::new())
            }
            // It was done without opening the journal here.
            RunsCommand::Resume(_) => Ok(String::new()),
            RunsCommand::Fork { run, step, yes, json } => match fork::fork(journal, run, *step, *yes).await? {
                Some(fork) if *json => Ok(to_line(&json!({ "run": fork }))),
                Some(fork) => Ok(format!("{fork}\n")),
                None => Ok(String::new()),
            },
            RunsCommand::Export { run, redact, json: _ } => {
                let export = journal.export(run).await.map_err(Failure::journal)?;
                let redacted = export.redacted(&Redaction::new().names(redact));
                Ok(redacted.map_err(|error| Failure::journal(error.into()))?.to_string())
            }
            RunsCommand::Delete { run, json } => {
                journal.delete(run).await.map_err(Failure::journal)?;
                Ok(if *json { to_line(&json!({ "run": run })) } else { String::new() })
            }
        }
    }
}

/// What is decided about a call.
enum Decided {
    /// About one that waits for approval.
    Approval(Decision),
    /// About one that began, of which it is not known what became of it.
    Outcome(UncertainDecision),
}

impl DecisionOptions {
    /// The option that was given, which says what is decided.
    fn name(&self) -> &'static str {
        let given = [
            (self.approve, "approve"),
            (self.deny.is_some(), "deny"),
            (self.edit.is_some(), "edit"),
            (self.happened.is_some(), "happened"),
            (self.give_up.is_some(), "give-up"),
        ];
        given.iter().find(|(is_given, _)| *is_given).map_or("again", |(_, name)| name)
    }

    fn decision(&self) -> Result<Decided, Failure> {
        if let Some(edited) = &self.edit {
            if !serde_json::from_str::<Value>(edited).is_ok_and(|value| value.is_object()) {
                return Err(Failure::usage("`--edit` takes the arguments as a JSON object"));
            }
            return Ok(Decided::Approval(Decision::Edit(edited.as_str().into())));
        }
        Ok(match (&self.deny, &self.happened, &self.give_up) {
            _ if self.approve => Decided::Approval(Decision::Approve),
            (Some(reason), _, _) => Decided::Approval(Decision::Deny(reason.clone())),
            (None, Some(result), _) => Decided::Outcome(UncertainDecision::Happened(
                ToolOutput::from_json_text(result.as_str()).unwrap_or_else(|_| ToolOutput::text(result.as_str())),
            )),
            (None, None, Some(reason)) => Decided::Outcome(UncertainDecision::GiveUp(reason.clone())),
            (None, None, None) => Decided::Outcome(UncertainDecision::RunAgain),
        })
    }
}

fn to_lines(runs: &[RunSummary]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut value = serde_json::to_value(run).unwrap_or_default();
        value["shown_state"] = run.shown_state().into();
        text.push_str(&to_line(&value));
    }
    text
}

fn to_line(value: &Value) -> String {
    format!("{}\n", visible_json(&value.to_string()))
}

fn table(runs: &[RunSummary]) -> String {
    let mut text = String::new();
    if runs.is_empty() {
        note(&"the journal has no runs");
        return text;
    }
    let width = runs.iter().map(|run| run.id.len()).max().unwrap_or_default().max("RUN".len());
    let _ = writeln!(text, "{:width$}  {:8}  {:11}  {:>5}  {:19}  TITLE", "RUN", "KIND", "STATE", "CALLS", "MADE");
    for run in runs {
        let (id, kind, title) = (visible(&run.id), visible(&run.kind), one_line(&run.title));
        let (state, calls, made) = (run.shown_state(), run.calls, time(run.created_ms));
        let _ = writeln!(text, "{id:width$}  {kind:8}  {state:11}  {calls:>5}  {made:19}  {title}");
    }
    text
}

/// What happened in a run, a line each.
fn timeline(record: &RunRecord) -> String {
    let summary = &record.summary;
    let mut text = String::new();
    let (id, kind, title) = (visible(&summary.id), visible(&summary.kind), one_line(&summary.title));
    let _ = writeln!(text, "{id}  {kind}  {}  {title}", summary.shown_state());
    if let Some(caller) = &summary.caller {
        let _ = writeln!(text, "asked for by {}", visible(caller));
    }
    if let (Some(parent), Some(step)) = (&summary.parent, summary.forked_at) {
        let _ = writeln!(text, "forked from {} after step {step}", visible(parent));
    }
    for event in record.events() {
        let (at, line) = match event {
            RunEvent::Step(step) => (step.at_ms, step_line(step)),
            RunEvent::Call(call) => (call.begun_ms, call_line(call)),
            _ => continue,
        };
        let _ = writeln!(text, "{}  {line}", time(at));
    }
    for call in record.waiting() {
        let why = match call.waits_for {
            WaitsFor::Approval => "waits for approval",
            _ => "waits until it is decided what became of it",
        };
        let _ = writeln!(text, "call {}  {} {why}", visible(&call.place), visible(&call.tool));
    }
    text
}

fn step_line(step: &StepRecord) -> String {
    let said = said_in(step).unwrap_or_else(|| shortened(step.body.get()));
    format!("step {}  {}  {said}", step.number, visible(&step.kind))
}

/// What a step of a chat says, in words; none where it is none.
fn said_in(step: &StepRecord) -> Option<String> {
    let body = step.body.get();
    let line = match &*step.kind {
        run_steps::REQUEST => {
            let RequestStep { provider, model, messages, tools, .. } = serde_json::from_str(body).ok()?;
            let asked = messages.iter().rev().find(|message| matches!(message, Message::User(_)));
            let asked = shortened(asked.map(Message::text).unwrap_or_default());
            let model = model.map(|model| format!(":{model}")).unwrap_or_default();
            format!("{provider}{model} with {} is asked: {asked}", counted(tools.len(), "tool"))
        }
        run_steps::ANSWER => {
            let AnswerStep { response, .. } = serde_json::from_str(body).ok()?;
            let calls = response.tool_calls().iter();
            let calls = calls.map(|call| format!("→ {} {}", call.name, shortened(call.arguments.as_str())));
            let said = shortened(&response.text());
            Some(said).filter(|said| !said.is_empty()).into_iter().chain(calls).collect::<Vec<_>>().join("  ")
        }
        run_steps::ROUND => {
            let RoundStep { round, .. } = serde_json::from_str(body).ok()?;
            format!("every call of round {round} has its outcome")
        }
        RunStep::SUSPENDED => {
            let SuspendedStep { calls, .. } = serde_json::from_str(body).ok()?;
            let places: Vec<_> = calls.iter().map(|call| call.place.as_str()).collect();
            format!("waits for a decision about {}", places.join(", "))
        }
        RunStep::DECISION => {
            let ApprovalDecision { place, decision, .. } = serde_json::from_str(body).ok()?;
            let decision = match decision {
                Decision::Approve => "approved".to_owned(),
                Decision::Deny(reason) => format!("denied: {reason}"),
                Decision::Edit(arguments) => format!("approved with {}", shortened(arguments.as_str())),
                _ => "not decided".to_owned(),
            };
            format!("call {place} is {decision}")
        }
        run_steps::SAVING | run_steps::SAVED => {
            let MemoryStep { count, .. } = serde_json::from_str(body).ok()?;
            format!("{} of the conversation", counted(count, "message"))
        }
        run_steps::END => {
            let EndStep { end, response, error, .. } = serde_json::from_str(body).ok()?;
            match (response, error) {
                (Some(response), _) => format!("{}: {}", end.as_str(), shortened(&response.text())),
                (None, Some(error)) => format!("{}: {}", end.as_str(), shortened(&error.message)),
                (None, None) => end.as_str().to_owned(),
            }
        }
        _ => return None,
    };
    Some(visible(&line).into_owned())
}

fn call_line(call: &CallRecord) -> String {
    let (place, tool, arguments) = (visible(&call.place), visible(&call.tool), shortened(call.arguments.get()));
    let attempt = if call.attempt > 1 { format!("  attempt {}", call.attempt) } else { String::new() };
    let decision = call.decision.as_ref().map(|decision| format!("  decided: {decision}")).unwrap_or_default();
    let outcome = match &call.outcome {
        None => String::new(),
        Some(recorded) => match &recorded.result {
            Ok(output) => format!("  → {}", shortened(&as_json(output))),
            Err(error) => format!("  → error: {}", shortened(error.message())),
        },
    };
    format!("call {place}  {tool} {arguments}  {}{attempt}{decision}{outcome}", call.state.as_str())
}

fn as_value(record: &RunRecord) -> String {
    let calls = record.calls.iter().map(|call| {
        let outcome = call.outcome.as_ref().map(|recorded| match &recorded.result {
            Ok(output) => json!({ "output": serde_json::from_str::<Value>(&as_json(output)).unwrap_or_default() }),
            Err(error) => json!({ "error": error.message(), "kind": error.kind() }),
        });
        json!({
            "place": call.place, "call_id": call.call_id, "tool": call.tool, "effect": call.effect, "state": call.state,
            "attempt": call.attempt, "arguments": call.arguments, "begun_ms": call.begun_ms, "ended_ms": call.ended_ms,
            "outcome": outcome, "decision": call.decision,
        })
    });
    let value = json!({
        "run": record.summary, "shown_state": record.summary.shown_state(), "steps": record.steps,
        "calls": calls.collect::<Vec<_>>(),
    });
    format!("{}\n", visible_json(&format!("{value:#}")))
}

/// How many characters of a value are shown.
const SHOWN: usize = 160;

fn shortened(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r'], " ")).into_owned()
}

/// A time of day, in the time zone of the reader.
fn time(unix_ms: i64) -> String {
    match Timestamp::from_millisecond(unix_ms) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => unix_ms.to_string(),
    }
}
