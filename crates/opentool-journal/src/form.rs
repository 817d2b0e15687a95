//! How outcomes are written: as JSON, with every digit of what a tool answered.

use opentool_core::{RecordedResult, ToolError, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// An outcome as it stands in the journal and in its export: one of `output` and `error`.
#[derive(Serialize, Deserialize)]
struct OutcomeForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ToolError>,
    #[serde(default)]
    return_direct: bool,
}

pub(crate) fn write(result: &Result<ToolOutput, ToolError>, return_direct: bool) -> Result<String, serde_json::Error> {
    let (output, error) = match result {
        Ok(output) => (Some(to_raw_value(output)?), None),
        Err(error) => (None, Some(error.clone())),
    };
    serde_json::to_string(&OutcomeForm { output, error, return_direct })
}

pub(crate) fn read(text: &str) -> Result<RecordedResult, serde_json::Error> {
    let OutcomeForm { output, error, return_direct } = serde_json::from_str(text)?;
    let result = match (output, error) {
        (_, Some(error)) => Err(error),
        (Some(output), None) => Ok(ToolOutput::parse(output.get())?),
        (None, None) => Ok(ToolOutput::Empty),
    };
    Ok(RecordedResult::new(result, return_direct))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn outcomes_come_back_as_they_were() {
        let large = r#"{"n":123456789012345678901234567890,"t":"a\u0000b"}"#;
        for result in [
            Ok(ToolOutput::Empty),
            Ok(ToolOutput::text("done")),
            Ok(ToolOutput::from_json_text(large).unwrap()),
            Err(ToolError::failed("no").with_code(7).with_data(serde_json::json!({"a": 1}))),
        ] {
            let text = write(&result, true).unwrap();
            let read = read(&text).unwrap();
            assert!(read.return_direct);
            match (&result, &read.result) {
                (Ok(before), Ok(after)) => assert_eq!(before, after),
                (Err(before), Err(after)) => {
                    assert_eq!(
                        (before.message(), before.code(), before.data()),
                        (after.message(), after.code(), after.data())
                    );
                }
                _ => unreachable!("{text}"),
            }
            assert_eq!(write(&read.result, true).unwrap(), text, "the same bytes");
        }
    }
}
