//! The exit status of a command that did its work: [`ExitStatus`].

use std::process::ExitCode;

/// How a command that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// No errors: exit code 0.
    Success,
    /// A document has errors, or a tool answered with one: exit code 1.
    Errors,
    /// Something could not be read, the rest was done: exit code 2.
    Incomplete,
    /// The model's answer is cut off: exit code 5.
    CutOff,
    /// The model's answer is withheld, or the model refused to give one: exit code 6.
    Withheld,
    /// A recorded turn waits for a decision about a call: exit code 7.
    Waiting,
    /// The user interrupted it: exit code 130, as a shell reports a process that Ctrl-C ended.
    Interrupted,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Errors => Self::from(1),
            ExitStatus::Incomplete => Self::from(2),
            ExitStatus::CutOff => Self::from(5),
            ExitStatus::Withheld => Self::from(6),
            ExitStatus::Waiting => Self::from(7),
            ExitStatus::Interrupted => Self::from(130),
        }
    }
}
