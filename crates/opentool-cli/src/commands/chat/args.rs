//! The arguments of `opentool chat`.

use std::path::PathBuf;

use clap::Args;

use super::{
    super::{
        access::{CaOptions, SourceKeyOptions},
        model::ModelOptions,
    },
    approval::Approve,
};
use crate::{exit_status::ExitStatus, failure::Failure, libraries::LibraryGrants, secret::Secret, size::size};

const EXAMPLES: &str = "\
Examples:
  opentool chat --model ollama:qwen3                A conversation with the demo tools
  opentool chat \"What is 17 * 23?\"                  One answer of the model in OPENTOOL_MODEL
  opentool chat weather.opentool.json \"Rain?\"       With the tools of a document with a server
  opentool chat http://127.0.0.1:9627 demo          With a server's tools and the demo tools
  echo \"What is 17 * 23?\" | opentool chat           The prompt from standard input
  git diff | opentool chat \"Sum this up:\" -         … or a part of it
  opentool chat --conversation trip \"And then?\"     Continue the conversation of this name
  opentool chat --attach photo.jpg \"What is this?\"    With a file
  opentool chat --json --yes \"Delete note 1\" | jq .tool_calls
  opentool chat --schema city.json \"Where was Einstein born?\" | jq .name
  opentool chat --journal runs.sqlite \"Pay the bill\"    Recorded, for `opentool runs resume`

SOURCE and PROMPT: the last word is the prompt, unless it names a source: `demo`, a URL, a .json file,
another file that exists or a [sources.NAME] of opentool.toml. A prompt that looks like a source is given with --prompt. Without one,
standard input is the prompt if it is no terminal; if it is one, a conversation begins. Ctrl-D
ends it, Ctrl-C cancels a turn, /help lists the commands.

Models: openai:NAME (OPENAI_API_KEY, OPENAI_BASE_URL), anthropic:NAME (ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL), gemini:NAME (GEMINI_API_KEY), ollama:NAME (OLLAMA_HOST); also openai-responses, azure,
groq, openrouter, deepseek, mistral, xai, together, fireworks, lmstudio, llamacpp and vllm, whose variables
`opentool help models` lists. For another server with OpenAI's API use openai: with --model-url or OPENAI_BASE_URL.
A `[model]` table of opentool.toml, once that is trusted, is the default: provider, name, base-url, key.

Approval: you are asked before a tool runs that is not known to only read; --approve says which
tools else, --read-only and --destructive what is known. With --json, or if standard input or
standard error is no terminal, opentool cannot ask: the call is denied, and the model gets that as
the answer, unless --yes is given. Tools that ask something themselves get their answer at the terminal, too.

Standard output: the model's text, or with --schema the JSON that follows the schema; with --json
one object with text, model, finish_reason, end (why the turn ended), reasoning, refusal, answer,
messages, tool_calls (name, arguments, outcome), usage and, with --prices, cost. Standard error:
each call and its answer, questions, errors. With OTEL_EXPORTER_OTLP_ENDPOINT set, spans are
exported (OTLP, http/protobuf).

Exit codes: 0 answered; 1 the model or a tool ended the turn with an error; 2 wrong usage, or no
model is set; 3 a model or a source cannot be reached; 4 one of them refused the API key; 5 the
answer is cut off, because it ran out of tokens; 6 the answer is withheld by a filter, or the model
refused to answer; 7 calls wait for a decision in the journal; 130 interrupted.";

/// Chat with a model that calls tools
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, override_usage = "opentool chat [OPTIONS] [SOURCE]... [PROMPT]")]
pub(in crate::commands) struct Chat {
    /// Where tools come from: base URLs of servers, documents that name one or describe a C library, MCP servers
    /// (mcp+https://…, or the file of an agent), `[sources.NAME]` of opentool.toml, `demo` [default: demo];
    /// and what to say
    #[arg(value_name = "SOURCE|PROMPT", hide_default_value = true)]
    pub(super) words: Vec<String>,
    /// The command of an MCP server, as a source; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(super) mcp: Vec<String>,
    /// Where the functions come from that the steps of an OpenWorkflow document call; repeatable
    #[arg(long, value_name = "SOURCE")]
    pub(super) tools: Vec<String>,
    /// Let the model write OpenWorkflow documents and run them: calls of the other tools in a fixed order
    #[arg(long)]
    pub(super) run_workflows: bool,
    /// What to say, where it looks like a source
    #[arg(long, short, value_name = "TEXT")]
    pub(super) prompt: Option<String>,
    #[command(flatten)]
    pub(super) model: ModelOptions,
    /// A file that goes with the prompt: an image, a sound, a PDF, a text; in a conversation with the first one;
    /// repeatable
    #[arg(long, value_name = "FILE")]
    pub(super) attach: Vec<PathBuf>,
    /// The system text: instructions that come before the conversation
    #[arg(long, short, value_name = "TEXT")]
    pub(super) system: Option<String>,
    /// Keep the conversation under this name, and continue it if there is one
    #[arg(long, short, value_name = "ID")]
    pub(super) conversation: Option<String>,
    /// The SQLite file of conversations [default: opentool/conversations.sqlite in your data folder]
    #[arg(long, value_name = "FILE")]
    pub(super) memory: Option<PathBuf>,
    /// Print JSON; its shape is described below
    #[arg(long)]
    pub(super) json: bool,
    /// Run every tool without asking, as `--approve none` does
    #[arg(long, short, conflicts_with = "approve")]
    pub(super) yes: bool,
    /// Which tools you are asked about before they run [default: writes]
    #[arg(long, value_name = "WHICH", value_enum, hide_possible_values = false)]
    pub(super) approve: Option<Approve>,
    /// A tool of a source that only reads; a server's own word is not taken for it; repeatable
    #[arg(long, value_name = "TOOL")]
    pub(super) read_only: Vec<String>,
    /// A tool of a source that destroys something; repeatable
    #[arg(long, value_name = "TOOL")]
    pub(super) destructive: Vec<String>,
    /// A file with the JSON Schema that the answer must follow; the answer is then JSON
    #[arg(long, value_name = "FILE")]
    pub(super) schema: Option<PathBuf>,
    /// A file with what a million tokens cost: {"MODEL": {"input": 0.25, "cached_input": 0.025, "output": 2}}
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Option<PathBuf>,
    /// The API key of a source's server: KEY where there is one such source, otherwise SOURCE=KEY; repeatable
    #[arg(long, value_name = "[SOURCE=]KEY")]
    pub(super) source_api_key: Vec<Secret>,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) source_keys: SourceKeyOptions,
    #[command(flatten)]
    pub(super) certificates: CaOptions,
    /// How large the result of a call may be [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    pub(super) max_result: Option<usize>,
    #[command(flatten)]
    pub(super) libraries: LibraryGrants,
    /// A tool of a source whose call may run again, with the same key: after a crash, or where its server was in trouble; repeatable
    #[arg(long, value_name = "TOOL")]
    pub(super) idempotent: Vec<String>,
    /// The journal that turns are recorded in.
    #[arg(skip)]
    pub(super) journal: Option<PathBuf>,
    /// The run that goes on.
    #[arg(skip)]
    pub(super) resume: Option<String>,
    /// Whether the answer of that run is JSON.
    #[arg(skip)]
    pub(super) is_typed_run: bool,
}

/// Chat with a model that calls tools
#[derive(Debug, Args)]
pub(in crate::commands) struct ChatCommand {
    #[command(flatten)]
    chat: Chat,
    /// Record every turn in this journal, so that it can go on after a crash; calls that you cannot be asked about wait there
    #[arg(long, value_name = "FILE", help_heading = "Runs")]
    journal: Option<PathBuf>,
    /// Go on with a run of the journal
    #[arg(
        long, value_name = "RUN", help_heading = "Runs", requires = "journal",
        conflicts_with_all = ["prompt", "attach", "system", "conversation", "schema"]
    )]
    resume: Option<String>,
}

impl ChatCommand {
    pub(in crate::commands) fn run(&self) -> Result<ExitStatus, Failure> {
        self.chat.recorded(self.journal.clone(), self.resume.clone()).run()
    }
}

impl Chat {
    /// This chat, recorded in a journal, or a run of it that goes on.
    pub(in crate::commands) fn recorded(&self, journal: Option<PathBuf>, resume: Option<String>) -> Self {
        Chat { journal, resume, ..self.clone() }
    }
}
