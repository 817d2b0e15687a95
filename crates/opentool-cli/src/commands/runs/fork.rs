//! `opentool runs fork`: a new run of the first steps of another one, which asks before effects are repeated.

use std::io::{self, IsTerminal as _};

use opentool::CallEffect;
use opentool_journal::{CallRecord, RunRecord, SqliteJournal};
use opentool_spec::json::excerpt;

use crate::{
    failure::Failure,
    terminal::{confirm, note, visible},
};

/// How many calls are shown.
const SHOWN: usize = 20;

/// Forks a run; where calls after the step had effects, the user is asked first. Returns the id of the new run, or none
/// where the user said no.
pub(super) async fn fork(journal: &SqliteJournal, run: &str, step: i64, yes: bool) -> Result<Option<String>, Failure> {
    let record = journal.run(run).await.map_err(Failure::journal)?;
    let repeated = repeated(&record, step);
    if !repeated.is_empty() {
        let (run, count) = (visible(run), repeated.len());
        let calls = if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
        note(&format_args!(
            "{calls} of run {run} with effects came after step {step}, and may run again in the fork, with new keys:"
        ));
        for call in repeated.iter().take(SHOWN) {
            note(&format_args!("  {}", shown(call)));
        }
        if let Some(more) = count.checked_sub(SHOWN).filter(|more| *more > 0) {
            note(&format_args!("  … and {more} more: `opentool runs show {run}`"));
        }
        if !yes && !is_confirmed()? {
            return Ok(None);
        }
    }
    journal.fork(run, step).await.map(Some).map_err(Failure::journal)
}

fn shown(call: &CallRecord) -> String {
    const LONGEST: usize = 120;
    let arguments = excerpt(call.arguments.get(), LONGEST);
    let (place, tool, arguments) = (visible(&call.place), visible(&call.tool), visible(&arguments));
    format!("call {place}  {tool} {arguments}  {}", call.state.as_str())
}

/// The calls that began after a step, may have had an effect, and may not be repeated without asking.
fn repeated(record: &RunRecord, step: i64) -> Vec<&CallRecord> {
    // The time of both is in milliseconds: a call of the same one counts as later, so that too much is asked rather than too little.
    let noted = record.steps.iter().find(|known| known.number == step).map(|known| known.at_ms);
    let is_later = |call: &&CallRecord| noted.is_none_or(|noted| call.begun_ms >= noted);
    record.calls.iter().filter(|call| call.effect == CallEffect::Other).filter(is_later).collect()
}

fn is_confirmed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage("you cannot be asked here: read the calls above, then give `--yes`"));
    }
    confirm("fork the run? [y/N] ").map_err(|source| Failure::Read { name: "the terminal".to_owned(), source })
}
