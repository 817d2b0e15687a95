//! The exit codes of every command, in one place: [`ExitStatus`].

use std::process::ExitCode;

/// How a command ended. `docs/command-line.md` has the same table, and a test compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// What was asked for is done.
    Success,
    /// A document, a tool, a model or a check answered with an error.
    Errors,
    /// The command line cannot be understood, or something that it names cannot be read, written or used.
    Unusable,
    /// A server or a model cannot be reached.
    Unreachable,
    /// A server or a model refused the key.
    Unauthorized,
    /// The model's answer is cut off.
    CutOff,
    /// The model's answer is withheld, or the model refused to give one.
    Withheld,
    /// A recorded turn waits for a decision about a call.
    Waiting,
    /// The user interrupted it.
    Interrupted,
}

impl ExitStatus {
    /// All of them, by their code.
    pub(crate) const ALL: [ExitStatus; 9] = [
        ExitStatus::Success,
        ExitStatus::Errors,
        ExitStatus::Unusable,
        ExitStatus::Unreachable,
        ExitStatus::Unauthorized,
        ExitStatus::CutOff,
        ExitStatus::Withheld,
        ExitStatus::Waiting,
        ExitStatus::Interrupted,
    ];

    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            ExitStatus::Success => 0,
            ExitStatus::Errors => 1,
            ExitStatus::Unusable => 2,
            ExitStatus::Unreachable => 3,
            ExitStatus::Unauthorized => 4,
            ExitStatus::CutOff => 5,
            ExitStatus::Withheld => 6,
            ExitStatus::Waiting => 7,
            // As a shell reports a process that Ctrl-C ended.
            ExitStatus::Interrupted => 130,
        }
    }

    /// What it means, over all commands.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            ExitStatus::Success => "done, without errors",
            ExitStatus::Errors => "a document has errors, a tool or a model answered with one, or a check failed",
            ExitStatus::Unusable => "wrong usage, or something that cannot be read, written or used",
            ExitStatus::Unreachable => "a server or a model cannot be reached",
            ExitStatus::Unauthorized => "a server or a model refused the key",
            ExitStatus::CutOff => "the model's answer is cut off, because it ran out of tokens",
            ExitStatus::Withheld => "the model's answer is withheld by a filter, or the model refused to answer",
            ExitStatus::Waiting => "a recorded chat waits for a decision about a call",
            ExitStatus::Interrupted => "interrupted by Ctrl-C",
        }
    }

    /// All codes with their meaning, as help has them.
    pub(crate) fn described() -> String {
        let all = Self::ALL.iter().map(|status| format!("{} {}", status.code(), status.meaning()));
        format!("Exit codes: {}.", all.collect::<Vec<_>>().join("; "))
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
