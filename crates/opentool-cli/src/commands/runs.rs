//! `opentool runs`: what a journal recorded, and decisions about calls that were interrupted.

mod fork;

use std::{fmt::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use jiff::{Timestamp, tz::TimeZone};
use opentool::{ToolOutput, UncertainDecision};
use opentool_journal::{CallRecord, Redaction, RunRecord, RunSummary, SqliteJournal};
use serde_json::{Value, json};

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    output::as_json,
    runtime::block_on,
    terminal::{note, visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool runs --journal calls.sqlite                        The newest runs
  opentool runs --journal calls.sqlite show RUN               What happened in one, in order
  opentool runs --journal calls.sqlite decide RUN 0 --happened '{\"id\":7}'
  opentool runs --journal calls.sqlite decide RUN 0 --again   … or --give-up REASON
  opentool runs --journal calls.sqlite export RUN --redact token > run.jsonl

A call that began and has no outcome is uncertain, unless its tool is read-only or idempotent: it never runs
again by itself. Look whether it had its effect, then decide: it happened with this result, it runs
again the next time it is asked for, or it is given up.

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

Standard output: JSON Lines, the run first, then its steps and calls.

Exit codes: 0 printed; 2 wrong usage, no such run, or the journal cannot be used.";

const DELETE: &str = "\
Examples:
  opentool runs delete --journal calls.sqlite RUN

Exit codes: 0 deleted; 2 wrong usage, no such run, or the journal cannot be used.";

/// Look at the runs of a journal, and decide about interrupted calls
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_negates_reqs = true)]
pub(super) struct Runs {
    /// The journal: the file of `opentool serve --journal FILE`
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
    /// Decide about an uncertain call
    #[command(after_help = DECIDE)]
    Decide(Decide),
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
    },
    /// Delete a run
    #[command(after_help = DELETE)]
    Delete {
        /// The id of the run
        run: String,
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
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionOptions {
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
            RunsCommand::Decide(Decide { run, place, decision }) => {
                journal.decide_call(run, place, decision.decision()).await.map_err(Failure::journal)?;
                note(&format_args!("decided about call {} of run {}", visible(place), visible(run)));
                Ok(String::new())
            }
            RunsCommand::Fork { run, step, yes, json } => match fork::fork(journal, run, *step, *yes).await? {
                Some(fork) if *json => Ok(format!("{}\n", json!({ "run": fork }))),
                Some(fork) => Ok(format!("{fork}\n")),
                None => Ok(String::new()),
            },
            RunsCommand::Export { run, redact } => {
                let export = journal.export(run).await.map_err(Failure::journal)?;
                let redacted = export.redacted(&Redaction::new().names(redact));
                Ok(redacted.map_err(|error| Failure::journal(error.into()))?.to_string())
            }
            RunsCommand::Delete { run } => {
                journal.delete(run).await.map_err(Failure::journal)?;
                Ok(String::new())
            }
        }
    }
}

impl DecisionOptions {
    fn decision(&self) -> UncertainDecision {
        match (&self.happened, &self.give_up) {
            (Some(result), _) => UncertainDecision::Happened(
                ToolOutput::from_json_text(result.as_str()).unwrap_or_else(|_| ToolOutput::text(result.as_str())),
            ),
            (None, Some(reason)) => UncertainDecision::GiveUp(reason.clone()),
            (None, None) => UncertainDecision::RunAgain,
        }
    }
}

fn to_lines(runs: &[RunSummary]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut value = serde_json::to_value(run).unwrap_or_default();
        value["shown_state"] = run.shown_state().into();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", visible_json(&value.to_string()));
    }
    text
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
    let RunRecord { summary, steps, calls, .. } = record;
    let mut text = String::new();
    let (id, kind, title) = (visible(&summary.id), visible(&summary.kind), one_line(&summary.title));
    let _ = writeln!(text, "{id}  {kind}  {}  {title}", summary.shown_state());
    if let Some(caller) = &summary.caller {
        let _ = writeln!(text, "asked for by {}", visible(caller));
    }
    if let (Some(parent), Some(step)) = (&summary.parent, summary.forked_at) {
        let _ = writeln!(text, "forked from {} after step {step}", visible(parent));
    }
    let mut lines: Vec<(i64, String)> = Vec::new();
    for step in steps {
        let body = shortened(step.body.get());
        lines.push((step.at_ms, format!("step {}  {}  {body}", step.number, visible(&step.kind))));
    }
    for call in calls {
        lines.push((call.begun_ms, call_line(call)));
    }
    lines.sort_by_key(|(at, _)| *at);
    for (at, line) in lines {
        let _ = writeln!(text, "{}  {line}", time(at));
    }
    text
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
