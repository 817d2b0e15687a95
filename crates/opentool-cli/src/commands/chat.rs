//! `opentool chat`: a model that calls tools, at a command line.

mod approval;
mod args;
mod attach;
mod data;
mod interrupt;
mod memory;
mod positionals;
mod progress;
mod question;
mod recorded;
mod repl;
mod report;
mod session;
mod show;
mod turn;

use std::io::{self, IsTerminal as _, Read as _};

pub(super) use self::{
    args::{Chat, ChatCommand},
    recorded::{RunDetails, StartedWith},
};
use self::{interrupt::Interrupt, positionals::Positionals, session::Session};
use super::{ExitStatus, access::warn_of_visible_key};
use crate::{failure::Failure, source_tables::NamedSources, sources};

impl Chat {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        if !self.source_api_key.is_empty() {
            warn_of_visible_key();
        }
        match &self.resume {
            Some(run) => recorded::filled(self, run)?.run_prepared(),
            None => self.run_prepared(),
        }
    }

    fn run_prepared(&self) -> Result<ExitStatus, Failure> {
        let named = NamedSources::new(self.config.as_deref(), "chat");
        let positionals = Positionals::parse(&self.words, self.prompt.as_deref(), &named)?;
        let model = self.model.given_or_found(self.config.as_deref(), "chat")?;
        // Before the user types a prompt, so that a wrong source is reported first.
        let sources = session::open_sources(self, &positionals.sources, &named)?;
        let prompt = match &self.resume {
            None => prompt(&positionals)?,
            Some(_) if positionals.prompt.is_some() || positionals.reads_input => {
                return Err(Failure::usage("a run that goes on has its prompt: leave it out"));
            }
            Some(_) => None,
        };
        if prompt.is_none() && self.json && self.resume.is_none() {
            return Err(Failure::usage("`--json` answers one prompt: give one, or pipe it in"));
        }
        // Several threads, so that a tool that blocks one does not delay Ctrl-C.
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let ended = runtime.block_on(async {
            let interrupt = Interrupt::listen();
            let session = tokio::select! {
                session = Session::open(self, &sources, &positionals.sources, &model, prompt.is_none(), &interrupt) => session?,
                () = interrupt.given() => return Ok(ExitStatus::Interrupted),
            };
            let ended = match (&prompt, &self.resume) {
                (Some(prompt), _) => session.answer(prompt, self.json).await,
                (None, Some(run)) => session.resume(run, self.json, self.is_typed_run).await,
                (None, None) => repl::run(&session).await,
            };
            // Other processes then need not wait for the end of the lease.
            tokio::select! {
                () = session.close_journal() => {}
                () = interrupt.given() => {}
            }
            // After Ctrl-C the file is left as it is; the next process that opens it recovers it.
            if !matches!(ended, Ok(ExitStatus::Interrupted)) {
                tokio::select! {
                    () = session.memory.close() => {}
                    () = interrupt.given() => {}
                }
            }
            sources::close(&sources).await;
            ended
        });
        // A tool on the blocking pool, or a question without an answer, may never end.
        runtime.shutdown_background();
        ended
    }
}

/// The prompt of the command line and of standard input; none for a conversation.
fn prompt(positionals: &Positionals) -> Result<Option<String>, Failure> {
    let is_piped = positionals.prompt.is_none() && !io::stdin().is_terminal();
    if !positionals.reads_input && !is_piped {
        return Ok(positionals.prompt.clone());
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| Failure::Read { name: "<stdin>".to_owned(), source })?;
    let input = String::from_utf8(bytes)
        .map_err(|error| Failure::NotText { name: "<stdin>".to_owned(), at: error.utf8_error().valid_up_to() })?;
    match (&positionals.prompt, input.trim_end()) {
        (None, input) if input.trim().is_empty() => {
            Err(Failure::usage("standard input is empty: pipe a prompt in, or give one"))
        }
        (None, input) => Ok(Some(input.to_owned())),
        (Some(prompt), input) => Ok(Some(format!("{prompt}\n\n{input}"))),
    }
}
