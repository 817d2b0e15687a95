//! Turns that are recorded go on where they stopped: nothing that is recorded is asked or run again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    AnswerForm, Cause, ChatClient, ChatClientBuilder, ChatError, ChatEvent, ChatMemory as _, ChatModel, FinishReason,
    InProcessMemory, Message, RunState, TurnEnd, run_steps,
};
use opentool_core::testing::FakeTool;
use opentool_core::{
    Ask, Decision, Executor, FnTool, Limits, RunError, ToolContext, ToolError, ToolMetadata, ToolOutput, Toolbox,
    UncertainDecision, Workflow,
};
use opentool_journal::{JournalError, JournalOptions, RunStatus, SqliteJournal};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::support::{Mode, watch};

/// A journal in a folder, opened again for each of the processes that a test stands for.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("runs.sqlite")
    }

    async fn open(&self) -> SqliteJournal {
        JournalOptions::new().lease(Duration::from_millis(300)).open(self.path()).await.unwrap()
    }

    /// The only run.
    async fn run(&self, journal: &SqliteJournal) -> String {
        let mut runs = journal.runs(10).await.unwrap();
        assert_eq!(runs.len(), 1);
        runs.remove(0).id
    }
}

fn asks_later(model: &ScriptedModel) -> ChatModel {
    ChatModel::builder(model.clone()).executor(Executor::builder().approval(Ask::later()).build()).build()
}

/// A tool that says which of its calls this is.
fn pay() -> FakeTool {
    FakeTool::new("pay")
        .acts(|arguments, _| async move { Ok(ToolOutput::text(format!("paid {}", arguments.as_str()))) })
}

fn two_rounds() -> [Reply; 3] {
    [
        Reply::call("pay", r#"{"n":1}"#).with_text("I pay."),
        Reply::call("pay", r#"{"n":2}"#).and_call("look", "{}"),
        Reply::text("All is paid."),
    ]
}

fn look() -> FakeTool {
    FakeTool::new("look").answers("looked").with_metadata(ToolMetadata::new().with_read_only(true))
}

async fn a_run_that_is_over_gives_its_recorded_answer(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let model = ScriptedModel::new(two_rounds());
    let client = ChatClient::builder(model.clone()).default_tools((pay(), look())).journal(journal.clone()).build();
    let first = mode.answer(client.prompt("Pay.")).await;
    let id = first.run_id().unwrap().to_owned();
    assert_eq!(journal.run(&id).await.unwrap().summary.state, RunStatus::Done);
    assert_eq!(journal.run(&id).await.unwrap().summary.title, "Pay.");
    journal.close().await;

    // Neither a model nor tools are needed.
    let journal = files.open().await;
    let other = ChatClient::builder(ScriptedModel::new([])).journal(journal.clone()).build();
    for _ in 0..2 {
        let again = mode.answer(other.resume_run(&id)).await;
        assert_eq!((again.text(), again.usage, again.run_id()), (first.text(), first.usage, Some(&*id)));
        assert_eq!(again.exchange(), first.exchange());
        assert_eq!(again.end(), TurnEnd::Answered);
    }
    let unknown = mode.error(other.resume_run("r0")).await;
    assert!(matches!(unknown.cause(), Cause::Run(RunError::Unknown { .. })));
    assert_eq!(unknown.to_string(), "the journal has no run `r0`");
    let none = mode.error(ChatClient::new(ScriptedModel::new([])).resume_run(&id)).await;
    assert!(none.to_string().contains("build it with `.journal(journal)`"), "{none}");
}

async fn an_answer_that_was_paused_is_recorded_once(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let paused = Reply::text("Once upon ").with_finish_reason(FinishReason::Paused);
    let model = ScriptedModel::new([Reply::call("look", "{}"), paused, Reply::text("a time.")]);
    let client = ChatClient::builder(model).default_tools(look()).journal(journal.clone()).build();
    let first = mode.answer(client.prompt("Tell.")).await;
    let again = mode.answer(client.resume_run(first.run_id().unwrap())).await;
    assert_eq!((again.text(), again.exchange()), ("Once upon a time.".to_owned(), first.exchange()));
    // From before its end it is put together again.
    let fork = journal.fork(first.run_id().unwrap(), 5).await.unwrap();
    let whole = mode.answer(client.resume_run(fork)).await;
    assert_eq!((whole.text(), whole.exchange()), (first.text(), first.exchange()));
}

async fn a_turn_that_failed_goes_on_where_it_stopped(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let [first, second, last] = two_rounds();
    let model = ScriptedModel::new([first, second, Reply::error(ChatError::refused("scripted", 503, "busy")), last]);
    let paying = pay();
    let log = paying.log();
    let client = ChatClient::builder(model.clone()).default_tools((paying, look())).journal(journal.clone()).build();
    let failed = mode.error(client.prompt("Pay.")).await;
    let id = failed.run_id().unwrap().to_owned();
    assert_eq!(journal.run(&id).await.unwrap().summary.state, RunStatus::Failed);
    let answer = mode.answer(client.resume_run(&id)).await;
    assert_eq!((answer.text().as_str(), answer.messages().len()), ("All is paid.", 6));
    assert_eq!((log.count(), model.requests().len()), (2, 4), "only the request that failed was made again");
    assert_eq!(model.requests()[3].messages, answer.messages()[..5]);
    assert_eq!(journal.run(&id).await.unwrap().summary.state, RunStatus::Done);
}

async fn a_turn_goes_on_from_every_step(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    // It answers by what it is sent, so that it can be asked at any point.
    let model = || {
        FunctionModel::new(|request| {
            let rounds = request.messages.iter().filter(|message| !message.tool_calls().is_empty()).count();
            two_rounds().into_iter().nth(rounds).unwrap()
        })
    };
    let client = || ChatClient::builder(model()).system("Pay.").default_tools((pay(), look()));
    let whole = mode.answer(client().journal(journal.clone()).build().prompt("Pay.")).await;
    let run = whole.run_id().unwrap().to_owned();
    let steps = journal.run(&run).await.unwrap().steps;
    let kinds: Vec<_> = steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, ["request", "answer", "round", "answer", "round", "answer", "end"]);
    for step in 1..=steps.len() {
        let fork = journal.fork(&run, step as i64).await.unwrap();
        let again = mode.answer(client().journal(files.open().await).build().resume_run(&fork)).await;
        assert_eq!(again.text(), whole.text(), "after step {step}");
        let shape = |messages: &[Message]| -> Vec<_> {
            messages.iter().map(|message| (message.text().to_owned(), message.tool_calls().len())).collect()
        };
        assert_eq!(shape(&again.exchange().history), shape(&whole.exchange().history), "after step {step}");
        assert_eq!(again.usage, whole.usage, "after step {step}");
        assert_eq!(journal.run(&fork).await.unwrap().summary.state, RunStatus::Done, "after step {step}");
    }
}

/// Drops a turn while it waits for something that never comes, as the end of a process does.
async fn drop_turn(mode: Mode, client: &ChatClient, prompt: &str) {
    let turn = mode.ask(client.prompt(prompt));
    assert!(timeout(Duration::from_millis(300), turn).await.is_err(), "it does not end");
}

async fn calls_of_an_interrupted_round_are_treated_by_their_kind(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let calls = || {
        Reply::call("look", "{}").and_call("send", r#"{"n":1}"#).and_call("done", "{}").and_call("send", r#"{"n":2}"#)
    };
    let model = ScriptedModel::new([calls()]);
    let hangs = |name: &str| FakeTool::new(name).hangs();
    let read_only = || ToolMetadata::new().with_read_only(true);
    let (looks, done) = (hangs("look").with_metadata(read_only()), FakeTool::new("done").answers("done once"));
    let log = done.log();
    let client =
        ChatClient::builder(model).default_tools((looks, hangs("send"), done)).journal(journal.clone()).build();
    drop_turn(mode, &client, "Send.").await;
    let id = files.run(&journal).await;
    journal.close().await;

    let journal = files.open().await;
    let (looks, sends) = (FakeTool::new("look").answers("seen").with_metadata(read_only()), FakeTool::new("send"));
    let (looked, sent) = (looks.log(), sends.log());
    let never = FakeTool::new("done").fails(ToolError::failed("it ran again"));
    let model = ScriptedModel::new([Reply::text("over")]);
    let client =
        ChatClient::builder(model.clone()).default_tools((looks, sends, never)).journal(journal.clone()).build();
    let waiting = mode.answer(client.resume_run(&id)).await;
    assert_eq!((waiting.end(), model.requests().len()), (TurnEnd::Suspended, 0));
    assert_eq!((looked.count(), sent.count(), log.count()), (1, 0, 1));
    assert_eq!(journal.runs(1).await.unwrap()[0].shown_state(), "uncertain");

    // Asking again changes nothing; each call is decided by itself.
    journal.decide_call(&id, "1.1", UncertainDecision::Happened(ToolOutput::text("sent, says the log"))).await.unwrap();
    assert_eq!(mode.answer(client.resume_run(&id)).await.end(), TurnEnd::Suspended);
    let refused = journal.decide_approval(&id, "1.3", Decision::Approve).await.unwrap_err();
    assert!(matches!(refused, JournalError::NotWaiting { .. }), "it was approved: {refused}");
    journal.decide_call(&id, "1.3", UncertainDecision::GiveUp("no one knows".to_owned())).await.unwrap();
    let answer = mode.answer(client.resume_run(&id)).await;
    let texts: Vec<_> = answer.messages()[2].answers().iter().map(|answer| answer.text.to_string()).collect();
    assert_eq!(texts[..3], ["seen", "sent, says the log", "done once"]);
    assert!(texts[3].contains("given up: no one knows"), "{texts:?}");
    assert_eq!((answer.text().as_str(), sent.count(), log.count()), ("over", 0, 1));
}

async fn a_call_that_is_decided_to_run_again_runs_once_more(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let client = ChatClient::builder(ScriptedModel::new([Reply::call("send", r#"{"n":1}"#)]))
        .default_tools(FakeTool::new("send").hangs())
        .journal(journal.clone())
        .build();
    drop_turn(mode, &client, "Send.").await;
    let id = files.run(&journal).await;
    let attempts = FakeTool::new("send")
        .acts(|_, context: ToolContext| async move { Ok(ToolOutput::text(format!("attempt {}", context.attempt()))) });
    let log = attempts.log();
    let client =
        ChatClient::builder(ScriptedModel::new([Reply::text("sent")])).default_tools(attempts).journal(journal.clone());
    let client = client.build();
    // The process is the same, and the first part of it has let the run go.
    assert_eq!(mode.answer(client.resume_run(&id)).await.end(), TurnEnd::Suspended);
    journal.decide_call(&id, "1.0", UncertainDecision::RunAgain).await.unwrap();
    let answer = mode.answer(client.resume_run(&id)).await;
    assert_eq!((&*answer.messages()[2].answers()[0].text, log.count()), ("attempt 2", 1));
}

async fn approvals_wait_in_the_journal(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let calls = Reply::call("send", r#"{"n":1}"#).and_call("send", r#"{"n":2}"#).and_call("send", r#"{"n":3}"#);
    let model = ScriptedModel::new([calls, Reply::text("sent")]);
    let tool = || FnTool::new("send", |n: opentool_core::Arguments| format!("sent {}", n.as_str())).approval();
    let tool = || tool().input_schema(json!({ "type": "object", "properties": { "n": { "type": "integer" } } }));
    let client = |journal| ChatClient::builder(asks_later(&model)).default_tools(tool()).journal(journal).build();
    let waiting = mode.answer(client(journal.clone()).prompt("Send.")).await;
    assert_eq!(waiting.end(), TurnEnd::Suspended);
    let id = waiting.run_id().unwrap().to_owned();
    let stored = serde_json::to_string(waiting.run_state().unwrap()).unwrap();
    journal.close().await;

    // Another process decides, and a third one goes on.
    let other = files.open().await;
    assert_eq!(other.runs(1).await.unwrap()[0].shown_state(), "waiting");
    other.decide_approval(&id, "1.0", Decision::Approve).await.unwrap();
    other.decide_approval(&id, "1.1", Decision::Deny("not this one".to_owned())).await.unwrap();
    let twice = other.decide_approval(&id, "1.0", Decision::Approve).await.unwrap_err();
    assert_eq!(twice.to_string(), format!("no call at `1.0` of run {id} waits for approval"));
    assert!(matches!(other.decide_approval(&id, "7.0", Decision::Approve).await, Err(JournalError::NotWaiting { .. })));
    assert!(matches!(
        other.decide_approval("r0", "1.0", Decision::Approve).await,
        Err(JournalError::UnknownRun { .. })
    ));
    other.close().await;

    let journal = files.open().await;
    let third = client(journal.clone());
    let again = mode.answer(third.resume_run(&id)).await;
    let pending: Vec<_> = again.run_state().unwrap().pending().map(|call| call.id.to_string()).collect();
    assert_eq!(pending.len(), 1, "one decision is missing");
    let unknown = mode.error(third.resume_run(&id).decide("nothing", Decision::Approve)).await;
    assert_eq!(unknown.to_string(), "no call `nothing` waits for a decision");
    // A state that was stored names its run, and the journal knows what happened since.
    let state: RunState = serde_json::from_str(&stored).unwrap();
    assert_eq!(state.run_id(), Some(&*id));
    let edited = third.resume(state).decide(&pending[0], Decision::Edit(r#"{"n":30}"#.into()));
    let answer = mode.answer(edited).await;
    let texts: Vec<_> = answer.messages()[2].answers().iter().map(|answer| answer.text.to_string()).collect();
    assert_eq!(texts, [r#"sent {"n":1}"#, "not this one", r#"sent {"n":30}"#]);
    assert_eq!((answer.text().as_str(), model.requests().len()), ("sent", 2));
    assert_eq!(answer.messages()[1].tool_calls()[2].arguments.as_str(), r#"{"n":30}"#, "the model sees what was run");
}

async fn a_run_has_one_owner_in_a_process_too(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let client = ChatClient::builder(ScriptedModel::new([Reply::never()])).journal(journal.clone()).build();
    let request = client.prompt("hi");
    let turn = tokio::spawn(async move { mode.ask(request).await });
    let mut id = None;
    while id.is_none() {
        sleep(Duration::from_millis(5)).await;
        let runs = journal.runs(1).await.unwrap();
        id = runs.into_iter().next().map(|run| run.id);
    }
    let id = id.unwrap();
    let refused = mode.error(client.resume_run(&id)).await;
    assert!(matches!(refused.cause(), Cause::Run(RunError::Owned { .. })), "{refused}");
    assert!(refused.to_string().contains("which is alive"));
    turn.abort();
    let _ = turn.await;
    let over = ChatClient::builder(ScriptedModel::new([Reply::text("hello")])).journal(journal).build();
    assert_eq!(mode.answer(over.resume_run(&id)).await.text(), "hello");
}

/// A memory and a journal, and a turn that stops at each of its points: nothing is in the memory twice.
async fn no_message_is_remembered_twice(mode: Mode) {
    for in_loop in [false, true] {
        let memory = Arc::new(InProcessMemory::new());
        let files = Files::new();
        let journal = files.open().await;
        let client = |model: ScriptedModel| -> ChatClientBuilder {
            ChatClient::builder(model)
                .system("Pay.")
                .default_tools((pay(), look()))
                .memory(memory.clone())
                .memory_in_loop(in_loop)
                .conversation("ann")
                .journal(journal.clone())
        };
        let before = client(ScriptedModel::new([Reply::text("Hello.")])).build();
        mode.answer(before.prompt("Hello.")).await;
        // It fails twice, after each round, and the failure is kept too.
        let busy = || Reply::error(ChatError::refused("scripted", 503, "busy"));
        let [first, second, last] = two_rounds();
        let model = ScriptedModel::new([first, busy(), second, busy(), last]);
        let client = client(model.clone()).build();
        let failed = mode.error(client.prompt("Pay.")).await;
        let id = failed.run_id().unwrap().to_owned();
        mode.error(client.resume_run(&id)).await;
        let answer = mode.answer(client.resume_run(&id)).await;
        assert_eq!(answer.text(), "All is paid.");
        let kept = memory.get("ann").await.unwrap();
        let said = |text: &str| kept.iter().filter(|message| message.text() == text).count();
        assert_eq!((said("Pay."), said("I pay."), said("All is paid.")), (1, 1, 1), "in_loop {in_loop}: {kept:#?}");
        let calls: Vec<_> = kept.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()).collect();
        assert_eq!(calls.len(), 3, "in_loop {in_loop}: {kept:#?}");
        // A run that is over adds nothing.
        mode.answer(client.resume_run(&id)).await;
        assert_eq!(memory.get("ann").await.unwrap(), kept);
    }
}

async fn a_turn_that_was_kept_before_its_end_was_recorded_is_not_kept_again(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let memory = Arc::new(InProcessMemory::new());
    let client = |journal: SqliteJournal| {
        let model = ScriptedModel::new([Reply::text("Hello."), Reply::text("Hello.")]);
        ChatClient::builder(model).memory(memory.clone()).conversation("ann").journal(journal).build()
    };
    // The same was said before, which must not be taken for it.
    mode.answer(client(journal.clone()).prompt("Hi.")).await;
    let answer = mode.answer(client(journal.clone()).prompt("Hi.")).await;
    let id = answer.run_id().unwrap().to_owned();
    let steps = journal.run(&id).await.unwrap().steps;
    assert_eq!(
        steps.iter().map(|step| &*step.kind).collect::<Vec<_>>(),
        ["request", "answer", "saving", "saved", "end"]
    );
    // The process ended after the memory had it, and before the run knew.
    let fork = journal.fork(&id, 3).await.unwrap();
    let kept = memory.get("ann").await.unwrap();
    assert_eq!(mode.answer(client(journal.clone()).resume_run(&fork)).await.text(), "Hello.");
    assert_eq!(memory.get("ann").await.unwrap(), kept);
    // And the other way round: it ended before the memory had it.
    memory.clear("ann").await.unwrap();
    memory.add("ann", &kept[..2]).await.unwrap();
    let fork = journal.fork(&id, 3).await.unwrap();
    mode.answer(client(journal.clone()).resume_run(&fork)).await;
    assert_eq!(memory.get("ann").await.unwrap(), kept);
}

async fn a_chat_used_as_a_tool_is_entered_again(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let paying = pay();
    let log = paying.log();
    let tools = Toolbox::from_tools([paying]).unwrap();
    // The inner model pays and is interrupted before it answers.
    let inner = ScriptedModel::new([Reply::call("pay", r#"{"n":1}"#), Reply::never()]);
    let inner = ChatClient::builder(inner).default_tools(tools.clone()).build();
    let outer = ScriptedModel::new([Reply::call("clerk", r#"{"prompt":"Pay."}"#)]);
    let client =
        ChatClient::builder(outer).default_tools(inner.as_tool("clerk", "Ask the clerk.")).journal(journal.clone());
    drop_turn(mode, &client.build(), "Let it be paid.").await;
    let id = files.run(&journal).await;
    let places: Vec<_> = journal.run(&id).await.unwrap().calls.iter().map(|call| call.place.clone()).collect();
    assert_eq!(places, ["1.0", "1.0>1.0"]);

    let inner = ScriptedModel::new([Reply::text("It is paid.")]);
    let outer = ScriptedModel::new([Reply::text("Done.")]);
    let asked = inner.clone();
    let inner = ChatClient::builder(inner).default_tools(tools).build();
    let client = ChatClient::builder(outer.clone()).default_tools(inner.as_tool("clerk", "Ask the clerk."));
    let client = client.journal(journal.clone()).build();
    let answer = mode.answer(client.resume_run(&id)).await;
    assert_eq!((answer.text().as_str(), log.count()), ("Done.", 1));
    assert_eq!(asked.requests()[0].messages.len(), 3, "it goes on with the result of the call");
    assert_eq!(&*outer.requests()[0].messages[2].answers()[0].text, "It is paid.");
}

async fn a_chat_used_as_a_tool_makes_the_run_wait(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let inner = ScriptedModel::new([Reply::call("send", "{}"), Reply::text("It is sent.")]);
    let inner =
        ChatClient::builder(asks_later(&inner)).default_tools(FnTool::new("send", || "sent").approval()).build();
    let outer = ScriptedModel::new([Reply::call("clerk", r#"{"prompt":"Send."}"#), Reply::text("Done.")]);
    let client = ChatClient::builder(outer).default_tools(inner.as_tool("clerk", "Ask the clerk."));
    let client = client.journal(journal.clone()).build();
    let waiting = mode.answer(client.prompt("Let it be sent.")).await;
    assert_eq!(waiting.end(), TurnEnd::Suspended);
    let id = waiting.run_id().unwrap();
    journal.decide_approval(id, "1.0>1.0", Decision::Approve).await.unwrap();
    assert_eq!(mode.answer(client.resume_run(id)).await.text(), "Done.");
    let record = journal.run(id).await.unwrap();
    let states: Vec<_> = record.calls.iter().map(|call| (call.place.as_str(), call.state.as_str())).collect();
    assert_eq!(states, [("1.0", "done"), ("1.0>1.0", "done")]);
}

async fn a_step_of_a_workflow_that_is_uncertain_makes_the_run_wait(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let document = r#"{ "openworkflow": "1.0.0", "info": { "title": "Bills", "version": "1.0.0" }, "workflow": {
        "start": { "function": "pay", "arguments": {}, "results": {}, "next": "null" } } }"#;
    let document: opentool_core::spec::OpenWorkflow = document.parse().unwrap();
    let client = |tool: FakeTool, replies: Vec<Reply>| {
        let workflow = Workflow::new(&document, Toolbox::from_tools([tool]).unwrap()).unwrap();
        let model = ScriptedModel::new(replies);
        ChatClient::builder(model).default_tools(workflow).journal(journal.clone()).build()
    };
    drop_turn(mode, &client(FakeTool::new("pay").hangs(), vec![Reply::call("bills", "{}")]), "Pay.").await;
    let id = files.run(&journal).await;
    let pays = FakeTool::new("pay").answers("paid");
    let log = pays.log();
    let client = client(pays, vec![Reply::text("over")]);
    assert_eq!(mode.answer(client.resume_run(&id)).await.end(), TurnEnd::Suspended);
    let waiting = journal.run(&id).await.unwrap().waiting();
    let place = &journal.run(&id).await.unwrap().calls[1].place;
    assert!(place.starts_with("1.0>") && waiting.len() == 1, "{waiting:?}");
    journal.decide_call(&id, place, UncertainDecision::GiveUp("no one knows".to_owned())).await.unwrap();
    let answer = mode.answer(client.resume_run(&id)).await;
    assert_eq!((answer.text().as_str(), log.count()), ("over", 0));
    let said = answer.messages()[2].answers()[0].text.to_string();
    assert!(said.contains("given up: no one knows"), "{said}");
}

async fn a_limit_and_a_form_hold_after_a_restart(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let form = || {
        let schema = json!({ "type": "object", "properties": { "days": { "type": "integer" } }, "required": ["days"] });
        AnswerForm::from_schema("trip", schema).unwrap()
    };
    let calls = |n: usize| Reply::call("look", format!(r#"{{"n":{n}}}"#));
    let model = |replies: Vec<Reply>| {
        let executor = Executor::builder().limits(Limits::default().with_rounds(2)).build();
        ChatModel::builder(ScriptedModel::new(replies)).executor(executor).build()
    };
    let tools = || FakeTool::new("look").answers("looked");
    let client = |replies| ChatClient::builder(model(replies)).default_tools(tools()).journal(journal.clone()).build();
    // Two rounds, the limit, an answer without its form, and then the provider is busy.
    let busy = Reply::error(ChatError::refused("scripted", 503, "busy"));
    let replies = vec![calls(1), calls(2), calls(3), Reply::text("three"), busy];
    let failed = mode.error(client(replies).prompt("How long?").answer_form(form())).await;
    assert_eq!(failed.status(), Some(503), "{failed}");
    let id = failed.run_id().unwrap();
    // The form is recorded too.
    let answer = mode.answer(client(vec![Reply::text(r#"{"days":3}"#)]).resume_run(id)).await;
    assert_eq!((answer.text().as_str(), answer.end()), (r#"{"days":3}"#, TurnEnd::AnsweredAtLimit));
}

async fn a_denied_call_of_an_earlier_round_is_not_asked_about_again(mode: Mode) {
    let files = Files::new();
    let journal = files.open().await;
    let model = |decision: Decision, replies: Vec<Reply>| {
        let ask = Ask::with(move |_| {
            let decision = decision.clone();
            async move { decision }
        });
        ChatModel::builder(ScriptedModel::new(replies)).executor(Executor::builder().approval(ask).build()).build()
    };
    let tool = FakeTool::new("send").with_metadata(ToolMetadata::new().with_approval(true));
    let log = tool.log();
    let tools = Toolbox::from_tools([tool]).unwrap();
    let busy = Reply::error(ChatError::refused("scripted", 503, "busy"));
    let denied = model(Decision::Deny("no".to_owned()), vec![Reply::call("send", "{}"), busy]);
    let client = ChatClient::builder(denied).default_tools(tools.clone()).journal(journal.clone()).build();
    let failed = mode.error(client.prompt("Send.")).await;
    let approves = model(Decision::Approve, vec![Reply::text("not sent")]);
    let client = ChatClient::builder(approves).default_tools(tools).journal(journal).build();
    let answer = mode.answer(client.resume_run(failed.run_id().unwrap())).await;
    assert_eq!((&*answer.messages()[2].answers()[0].text, log.count()), ("no", 0));
}

#[tokio::test]
async fn a_stream_names_its_run_first_and_shows_what_was_recorded() {
    let files = Files::new();
    let journal = files.open().await;
    let [first, ..] = two_rounds();
    let model =
        ScriptedModel::new([first, Reply::error(ChatError::refused("scripted", 503, "busy")), Reply::text("Over.")]);
    let client = ChatClient::builder(model).default_tools(pay()).journal(journal).build();
    let (events, failed) = watch(client.prompt("Pay.").stream()).await;
    let id = failed.unwrap_err().run_id().unwrap().to_owned();
    assert!(matches!(&events[0], ChatEvent::Run(run) if **run == *id));
    let (events, answer) = watch(client.resume_run(&id).stream()).await;
    let text: String = events
        .iter()
        .filter_map(|event| if let ChatEvent::Text(text) = event { Some(&**text) } else { None })
        .collect();
    assert_eq!(text, "I pay.Over.");
    assert_eq!(answer.unwrap().text(), "Over.");
}

#[tokio::test]
async fn details_and_no_secret_are_in_the_run() {
    let files = Files::new();
    let journal = files.open().await;
    let client = ChatClient::builder(ScriptedModel::new([Reply::text("hi")]))
        .default_tools(pay())
        .default_context("token", "s3cret")
        .journal(journal.clone())
        .run_details(json!({ "sources": ["demo"] }))
        .build();
    let id = client.prompt("hi").call().await.unwrap().run_id().unwrap().to_owned();
    let export = journal.export(&id).await.unwrap().to_string();
    assert!(!export.contains("s3cret"), "{export}");
    let record = journal.run(&id).await.unwrap();
    let request: run_steps::RequestStep = serde_json::from_str(record.steps[0].body.get()).unwrap();
    assert_eq!(request.details, Some(json!({ "sources": ["demo"] })));
    assert_eq!((request.tools[0].name.as_str(), request.provider.as_str()), ("pay", "scripted"));
}

#[tokio::test]
async fn what_cannot_be_read_is_a_clear_error() {
    let files = Files::new();
    let journal = files.open().await;
    let run = journal.start_run("chat", "odd").await.unwrap();
    run.add_step("request", &json!({ "messages": 7 })).await.unwrap();
    run.finish(RunStatus::Waiting).await.unwrap();
    let empty = journal.start_run("chat", "empty").await.unwrap();
    empty.finish(RunStatus::Waiting).await.unwrap();
    let client = ChatClient::builder(ScriptedModel::new([])).journal(journal).build();
    let odd = client.resume_run(run.id()).call().await.unwrap_err();
    assert!(odd.to_string().contains("its step 1 (`request`) cannot be read"), "{odd}");
    let empty = client.resume_run(empty.id()).call().await.unwrap_err();
    assert!(empty.to_string().contains("before anything was asked"), "{empty}");
}

in_both_modes!(
    a_run_that_is_over_gives_its_recorded_answer,
    an_answer_that_was_paused_is_recorded_once,
    a_turn_that_failed_goes_on_where_it_stopped,
    a_turn_goes_on_from_every_step,
    calls_of_an_interrupted_round_are_treated_by_their_kind,
    a_call_that_is_decided_to_run_again_runs_once_more,
    approvals_wait_in_the_journal,
    a_run_has_one_owner_in_a_process_too,
    no_message_is_remembered_twice,
    a_turn_that_was_kept_before_its_end_was_recorded_is_not_kept_again,
    a_chat_used_as_a_tool_is_entered_again,
    a_chat_used_as_a_tool_makes_the_run_wait,
    a_step_of_a_workflow_that_is_uncertain_makes_the_run_wait,
    a_limit_and_a_form_hold_after_a_restart,
    a_denied_call_of_an_earlier_round_is_not_asked_about_again,
);
