//! Recorded runs without their secrets.

use opentool_core::{Arguments, CallKey, RecordedResult};
use serde_json::value::RawValue;

use super::rules::Redaction;
use super::scrub::Secrets;
use super::walk::Walk;
use crate::export::{RunExport, rewrite_outcome};
use crate::row::{CallRecord, RunRecord, StepRecord};

impl RunExport {
    /// Returns the run without secrets. The hashes of arguments, and the keys of calls, are those of the arguments without secrets.
    ///
    /// The schemas of its tools are those of the redaction, and those that its steps describe.
    ///
    /// # Errors
    ///
    /// Where an outcome cannot be read without them.
    pub fn redacted(&self, redaction: &Redaction) -> Result<Self, serde_json::Error> {
        let RunRecord { summary, steps, calls } = &self.record;
        let redaction =
            steps.iter().fold(redaction.clone(), |redaction, step| redaction.with_tools_of(step.body.get()));
        let mut secrets = redaction.secrets();
        let mut walk = Walk::new(&redaction, &mut secrets);
        // First all secrets are found, by their places; then they are taken out of all other texts.
        let steps: Vec<_> = steps.iter().map(|step| (step, walk.json(step.body.get()))).collect();
        let calls: Vec<_> = calls
            .iter()
            .map(|call| {
                let arguments = walk.arguments(&call.tool, call.arguments.get());
                let outcome = call.outcome.as_ref();
                let outcome = outcome.map(|outcome| rewrite_outcome(outcome, |json| walk.result(&call.tool, json)));
                Ok((call, arguments, outcome.transpose()?))
            })
            .collect::<Result<_, serde_json::Error>>()?;
        let mut summary = summary.clone();
        if let Some(title) = secrets.out_of(&summary.title) {
            summary.title = title;
        }
        summary.caller = summary.caller.map(|caller| secrets.out_of(&caller).unwrap_or(caller));
        let steps = steps.into_iter().map(|(step, body)| {
            Ok(StepRecord { body: RawValue::from_string(secrets.out_of_json(&body))?, ..step.clone() })
        });
        let steps = steps.collect::<Result<_, serde_json::Error>>()?;
        let calls = calls
            .into_iter()
            .map(|(call, arguments, outcome)| redacted_call(&summary.id, call, &arguments, outcome, &secrets));
        let calls = calls.collect::<Result<_, serde_json::Error>>()?;
        Ok(Self { record: RunRecord { summary, steps, calls } })
    }
}

fn redacted_call(
    run: &str,
    call: &CallRecord,
    arguments: &str,
    outcome: Option<RecordedResult>,
    secrets: &Secrets,
) -> Result<CallRecord, serde_json::Error> {
    let arguments = secrets.out_of_json(arguments);
    // Arguments that could not be read are a text.
    let json = match RawValue::from_string(arguments.clone()) {
        Ok(json) => json,
        Err(_) => serde_json::value::to_raw_value(&arguments)?,
    };
    let key = CallKey::new(run, &*call.place, &*call.tool, &Arguments::from(&*json));
    let outcome = outcome.map(|outcome| rewrite_outcome(&outcome, |json| secrets.out_of_json(json))).transpose()?;
    Ok(CallRecord { arguments: json, arguments_hash: key.arguments_hash.to_string(), outcome, ..call.clone() })
}
