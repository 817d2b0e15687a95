//! A refund that is paid once, although the program dies right after it was paid and before that was recorded.
//!
//! ```console
//! $ cargo run -p opentool --example refund --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use opentool::journal::{JournalOptions, RunStatus, SqliteJournal};
use opentool::prelude::*;
use opentool::{Arguments, BoxFuture, CallKey, Reconcile, Reconciled};
use schemars::JsonSchema;
use serde::Deserialize;

/// The payment system: a file with a line for each refund, which has the key of the call that paid it.
#[derive(Clone)]
struct Ledger(PathBuf);

impl Ledger {
    fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn pay(&self, key: &str, refund: &Refund) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        writeln!(file, "{key} order {} {} cents", refund.order, refund.cents)
    }
}

/// Asked after a crash: was this call's refund paid?
impl Reconcile for Ledger {
    fn reconcile<'a>(
        &'a self,
        key: &'a CallKey,
        _: &'a Arguments,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Reconciled, ToolError>> {
        let paid = self.lines().iter().any(|line| line.starts_with(&key.to_string()));
        let found = if paid { Reconciled::Happened(ToolOutput::text("paid")) } else { Reconciled::DidNotHappen };
        Box::pin(async move { Ok(found) })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Refund {
    order: u32,
    cents: u32,
}

/// The tool; `dies` makes the program die at the worst moment.
fn refund(ledger: Ledger, dies: bool) -> FnTool {
    let asked = ledger.clone();
    FnTool::fallible("refund", move |refund: Refund, ctx: ToolContext| {
        let ledger = ledger.clone();
        async move {
            let key = ctx.call_key().map(ToString::to_string).unwrap_or_default();
            ledger.pay(&key, &refund)?;
            if dies {
                std::process::abort();
            }
            Ok("paid")
        }
    })
    .metadata(ToolMetadata::new().with_destructive(true).with_reconcile(asked))
}

async fn open(folder: &Path) -> Result<SqliteJournal, Box<dyn Error>> {
    // A short lease, so that the example does not wait long for the run of the process that died.
    Ok(JournalOptions::new().lease(Duration::from_secs(1)).open(folder.join("journal.sqlite")).await?)
}

fn calls() -> Vec<ToolCall> {
    vec![ToolCall::new("call_1", "refund", r#"{"order": 17, "cents": 4200}"#)]
}

/// The process that dies.
async fn first_attempt(folder: &Path) -> Result<(), Box<dyn Error>> {
    let journal = open(folder).await?;
    let run = journal.start_run("refund", "order 17").await?;
    fs::write(folder.join("run"), run.id())?;
    let tools = Toolbox::new().with(refund(Ledger(folder.join("ledger")), true))?;
    let context = run.context(&ToolContext::new());
    Executor::new().run(&tools, calls(), &mut Turn::new(), &context).finish().await;
    Err("it should have died".into())
}

/// The process after it.
async fn second_attempt(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (journal, ledger) = (open(folder).await?, Ledger(folder.join("ledger")));
    println!("after the crash the ledger has {} refund", ledger.lines().len());
    let id = fs::read_to_string(folder.join("run"))?;
    let run = loop {
        match journal.claim(&id).await {
            Ok(run) => break run,
            Err(opentool::journal::JournalError::Owned { .. }) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(error) => return Err(error.into()),
        }
    };
    let tools = Toolbox::new().with(refund(ledger.clone(), false))?;
    let context = run.context(&ToolContext::new());
    let outcomes = Executor::new().run(&tools, calls(), &mut Turn::new(), &context).finish().await;
    println!("the same call again: {}", outcomes[0].result.clone()?.to_text());
    run.finish(RunStatus::Done).await?;
    println!("the ledger has {} refund", ledger.lines().len());
    journal.close().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(folder) = std::env::args().nth(1) {
        return first_attempt(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir()?;
    let died = Command::new(std::env::current_exe()?).arg(folder.path()).status()?;
    println!("the first process {}", if died.success() { "went on" } else { "died" });
    second_attempt(folder.path()).await
}
