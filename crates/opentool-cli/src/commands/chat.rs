//! `opentool chat`: a model that calls tools, at a command line.

mod approval;
mod console;
mod data;
mod interrupt;
mod memory;
mod model;
mod repl;
mod report;
mod session;
mod show;
mod turn;
mod words;

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::PathBuf,
};

use clap::Args;

use self::{interrupt::Interrupt, model::ModelName, session::Session, words::Words};
use super::{
    ExitStatus,
    access::{Secret, warn_of_visible_key},
};
use crate::{failure::Failure, libraries::LibraryGrants};

const EXAMPLES: &str = "\
Examples:
  opentool chat --model ollama:qwen3                A conversation with the demo tools
  opentool chat \"What is 17 * 23?\"                  One answer of the model in OPENTOOL_MODEL
  opentool chat weather.opentool.json \"Rain?\"       With the tools of a document with a server
  opentool chat http://127.0.0.1:9627 demo          With a server's tools and the demo tools
  echo \"What is 17 * 23?\" | opentool chat           The prompt from standard input
  git diff | opentool chat \"Sum this up:\" -         … or a part of it
  opentool chat --conversation trip \"And then?\"     Go on with what was said under this name
  opentool chat --json --yes \"Delete note 1\" | jq .tool_calls

SOURCE and PROMPT: the last word is the prompt, unless it names a source: `demo`, a URL, a .json file
or another file that exists. A prompt that looks like a source is given with --prompt. Without one,
standard input is the prompt where it is no terminal; where it is one, a conversation begins. Ctrl-D
ends it, Ctrl-C gives a turn up, /help says more.

Models: openai:NAME (OPENAI_API_KEY, OPENAI_BASE_URL), anthropic:NAME (ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL), ollama:NAME (OLLAMA_HOST). Servers that speak as OpenAI does, such as llama.cpp
and vLLM, are openai: with OPENAI_BASE_URL.

Destructive tools: you are asked before one runs. With --json, or where standard input or standard
error is no terminal, there is nobody to ask: the call is denied, and the model told so, unless --yes
is given.

Standard output: the model's text; with --json one object with text, messages, tool_calls (name,
arguments, outcome) and usage. Standard error: each call and its answer, questions, errors. With
OTEL_EXPORTER_OTLP_ENDPOINT set, spans are exported (OTLP, http/protobuf).

Exit codes: 0 answered; 1 the model or a tool ended the turn with an error; 2 wrong usage, or no
model is set; 3 a model or a source cannot be reached; 4 one of them refused the API key;
130 interrupted.";

/// Talk to a model that calls tools
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "opentool chat [OPTIONS] [SOURCE]... [PROMPT]")]
pub(super) struct Chat {
    /// Where tools come from: base URLs of servers, documents that name one or describe a C library, `demo` [default: demo];
    /// and what to say
    #[arg(value_name = "SOURCE|PROMPT", hide_default_value = true)]
    words: Vec<String>,
    /// What to say, where it looks like a source
    #[arg(long, short, value_name = "TEXT")]
    prompt: Option<String>,
    /// The model, for example ollama:qwen3 [default: that of OPENTOOL_MODEL]
    #[arg(long, short, value_name = "PROVIDER:NAME")]
    model: Option<ModelName>,
    /// What the model is told before everything else
    #[arg(long, short, value_name = "TEXT")]
    system: Option<String>,
    /// Keep what is said under this name, and go on with what was said under it before
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    /// The SQLite file of conversations [default: opentool/conversations.sqlite in your data folder]
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Run destructive tools without asking
    #[arg(long, short)]
    yes: bool,
    /// A tool of a server that destroys something; a server's own word is not taken for it; repeatable
    #[arg(long, value_name = "TOOL")]
    destructive: Vec<String>,
    /// The API key of a source's server: KEY where there is one such source, otherwise SOURCE=KEY; repeatable; better in
    /// the environment variable OPENTOOL_API_KEY
    #[arg(long, value_name = "[SOURCE=]KEY")]
    source_api_key: Vec<Secret>,
    #[command(flatten)]
    libraries: LibraryGrants,
}

impl Chat {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        if !self.source_api_key.is_empty() {
            warn_of_visible_key();
        }
        let words = Words::of(&self.words, self.prompt.as_deref())?;
        let model = ModelName::given_or_set(self.model.as_ref())?;
        // Before anything is read from somebody who may type it.
        let sources = session::open_sources(self, &words.sources)?;
        let prompt = prompt(&words)?;
        if prompt.is_none() && self.json {
            return Err(Failure::usage("`--json` answers one prompt: give one, or pipe it in"));
        }
        // A tool that holds its thread must not keep Ctrl-C from being heard.
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let ended = runtime.block_on(async {
            let interrupt = Interrupt::listen();
            let session = tokio::select! {
                session = Session::open(self, &sources, &model, prompt.is_none(), &interrupt) => session?,
                () = interrupt.given() => return Ok(ExitStatus::Interrupted),
            };
            let ended = match &prompt {
                Some(prompt) => session.answer(prompt, self.json).await,
                None => repl::run(&session).await,
            };
            // Whoever gave up does not wait for the file either; the next who opens it tidies up.
            if !matches!(ended, Ok(ExitStatus::Interrupted)) {
                tokio::select! {
                    () = session.memory.close() => {}
                    () = interrupt.given() => {}
                }
            }
            ended
        });
        // A tool on the blocking pool, or a question that nobody answers, may never end.
        runtime.shutdown_background();
        ended
    }
}

/// The prompt of the command line and of standard input; none for a conversation.
fn prompt(words: &Words) -> Result<Option<String>, Failure> {
    let is_piped = words.prompt.is_none() && !io::stdin().is_terminal();
    if !words.reads_input && !is_piped {
        return Ok(words.prompt.clone());
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| Failure::Read { name: "<stdin>".to_owned(), source })?;
    let input = String::from_utf8(bytes)
        .map_err(|error| Failure::NotText { name: "<stdin>".to_owned(), at: error.utf8_error().valid_up_to() })?;
    match (&words.prompt, input.trim_end()) {
        (None, input) if input.trim().is_empty() => {
            Err(Failure::usage("standard input is empty: pipe a prompt in, or give one"))
        }
        (None, input) => Ok(Some(input.to_owned())),
        (Some(prompt), input) => Ok(Some(format!("{prompt}\n\n{input}"))),
    }
}
