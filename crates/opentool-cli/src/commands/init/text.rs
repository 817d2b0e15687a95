//! A configuration file for what was found: [`ConfigText`].

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    super::provider_name::ProviderName,
    findings::{Finding, FolderItem, stem_of},
};
use crate::{
    config_value::is_secret, demo, next_step, report::counted, setting::DEFAULT_PORT, source::local_port,
    system_library,
};

const HEAD: &str = "\
# What `opentool serve` serves in this folder. It is read again when it changes; a file with errors changes nothing.
# `opentool schema opentool.toml` prints a JSON Schema for editors, and docs/configuration.md describes every key.

# The address. Other machines are let in with a key only.
port = 9627
# host = \"0.0.0.0\"
# api-key = { env = \"OPENTOOL_API_KEY\" }

# How long a call may run, and how large its result may be.
# timeout = \"30s\"
# max-result = \"1M\"

# Calls that need approval are denied, unless the caller's side is asked.
# approval = \"caller\"
";

const JOURNAL: &str = "
# A file in which calls with an `Idempotency-Key` are recorded, so that their outcomes survive the server.
# [journal]
# file = \"calls.sqlite\"
";

const DEMO: &str = "
# Nothing in this folder can be served yet, so here are the demo tools.
[sources.tools]
kind = \"demo\"
";

const EXAMPLES: &str = "
# Other sources:
#
# [sources.remote]
# kind = \"opentool\"
# url = \"https://tools.example\"
# key = { env = \"REMOTE_KEY\" }
#
# [sources.files]
# kind = \"mcp\"
# command = \"npx\"
# args = [\"-y\", \"some-server\"]
# only = [\"read\", \"write\"]
#
# [sources.files.tool.write]
# approval = \"caller\"
";

/// The text of a file, and what became of each finding.
pub(super) struct ConfigText {
    pub(super) text: String,
    /// The port at which the tools are served.
    pub(super) port: u16,
    /// The commands that describe libraries, after which the file can be written again.
    pub(super) describe: Vec<String>,
    pub(super) notes: Vec<FindingNote>,
}

/// What became of a finding.
pub(super) struct FindingNote {
    pub(super) file: PathBuf,
    /// The name of the source, where there is one.
    pub(super) source: Option<String>,
    pub(super) note: String,
}

impl ConfigText {
    pub(super) fn new(findings: &[Finding]) -> Self {
        let port = free_port(findings);
        let mut writer = ConfigWriter {
            text: HEAD.replace("9627", &port.to_string()),
            notes: Vec::new(),
            names: BTreeSet::new(),
            callable: Vec::new(),
            describe: Vec::new(),
        };
        // The tools that workflows call come first.
        let (workflows, others): (Vec<_>, Vec<_>) =
            findings.iter().partition(|finding| matches!(finding.what, FolderItem::Workflow { .. }));
        for finding in others.into_iter().chain(workflows) {
            writer.add(finding);
        }
        if writer.callable.is_empty() {
            writer.text.push_str(DEMO);
        }
        let (remote, files) = (writer.name("remote"), writer.name("files"));
        let examples = EXAMPLES.replace("sources.remote", &format!("sources.{remote}"));
        writer.text.push_str(&examples.replace("sources.files", &format!("sources.{files}")));
        writer.text.push_str(JOURNAL);
        writer.text.push_str(&model(findings));
        ConfigText { text: writer.text, port, describe: writer.describe, notes: writer.notes }
    }
}

/// A port that no server of this machine has which the folder names: a server that forwards calls to itself answers none.
fn free_port(findings: &[Finding]) -> u16 {
    let named: BTreeSet<u16> = findings
        .iter()
        .filter_map(|finding| match &finding.what {
            FolderItem::OpenTool { server: Some(server), .. } => local_port(server),
            FolderItem::McpServer { entry, .. } => local_port(entry.get("url")?.as_str()?),
            _ => None,
        })
        .collect();
    (DEFAULT_PORT..).find(|port| !named.contains(port)).unwrap_or(DEFAULT_PORT)
}

struct ConfigWriter {
    text: String,
    notes: Vec<FindingNote>,
    /// The names of sources that are taken.
    names: BTreeSet<String>,
    /// The sources that are served, with their functions.
    callable: Vec<(String, Vec<String>)>,
    /// What describes the libraries that have no document.
    describe: Vec<String>,
}

impl ConfigWriter {
    fn add(&mut self, finding: &Finding) {
        let file = shown(&finding.file);
        match &finding.what {
            FolderItem::OpenTool { functions, server: Some(server) } => {
                let (count, server) = (counted(functions.len(), "function"), one_line(server));
                let (name, prefix) =
                    self.served(&finding.file, functions, &format!("an OpenTool document with {count}, of {server}"));
                let document = quoted(&file);
                self.write(&format!(
                    "\n# Calls are sent to {server}, with this key where it wants one.\n[sources.{name}]\nkind = \"opentool\"\n\
                     document = {document}\n{prefix}# key = {{ env = \"{}_KEY\" }}\n",
                    variable_of(&name)
                ));
            }
            FolderItem::OpenTool { server: None, .. } => {
                self.note(
                    &finding.file,
                    None,
                    "an OpenTool document without `server.url`, so that nothing can be called",
                );
                self.write(&format!(
                    "\n# {file} says nothing about where its functions can be called: add \"server\": {{\"url\": …}}.\n"
                ));
            }
            FolderItem::Library { functions, library, title } => {
                self.add_library(finding, functions, library.as_deref(), title)
            }
            FolderItem::Workflow { name, functions } => self.add_workflow(finding, name, functions),
            FolderItem::McpServer { name, entry } => self.add_mcp(&finding.file, name, entry),
            FolderItem::Undescribed { header } => {
                let stem = stem_of(&finding.file);
                let words = [file.clone(), shown(header), format!("{stem}.opendyn.json")];
                let [library, header, document] = words.each_ref().map(|word| shell_word(word));
                let describe = format!("opentool dyn describe {library} --header {header} -o {document}");
                self.note(&finding.file, None, &format!("a C library without a document: `{describe}` writes one"));
                self.write(&format!("\n# {file} is a C library that no document describes yet:\n#   {describe}\n"));
                self.describe.push(describe);
            }
            FolderItem::Variables(names) => {
                self.note(&finding.file, None, &format!("{} variables, which keys can be taken from", names.len()));
            }
            FolderItem::Faulty => {
                let check = format!("opentool check {}", shell_word(&file));
                self.note(&finding.file, None, &format!("a document with errors: `{check}` shows them"));
                self.write(&format!("\n# {file} has errors: `{check}` shows them.\n"));
            }
            FolderItem::Foreign(format) => {
                let what = format.described();
                let note = if format.is_importable() {
                    format!("{what}: `opentool import {}` makes an OpenTool document of it", shell_word(&file))
                } else {
                    format!("{what}, which cannot be served yet")
                };
                self.note(&finding.file, None, &note);
            }
        }
    }

    fn add_library(&mut self, finding: &Finding, functions: &[String], library: Option<&Path>, title: &str) {
        let file = shown(&finding.file);
        let lines = |name: &str, library: &str| {
            format!("[sources.{name}]\nkind = \"library\"\ndocument = {}\nlibrary = {library}\n", quoted(&file))
        };
        match library {
            Some(library) => {
                let count = counted(functions.len(), "function");
                let what = format!("{count} of the C library {}", shown(library));
                let (name, prefix) = self.served(&finding.file, functions, &what);
                // With a folder before it, so that the system does not look for it.
                let library = quoted(&format!("./{}", shown(library)));
                self.write(&format!(
                    "\n# It runs in a worker process, which may compute and nothing else.\n{}{prefix}# allow = [\"read=data\"]\n# memory = \"512M\"\n",
                    lines(&name, &library)
                ));
            }
            None => {
                let installed = system_library::find(&stem_of(Path::new(title)));
                let (what, comment) = match &installed {
                    Some(library) => (
                        format!("its library {library} is the system's, so that it is written as a comment"),
                        "of the system: remove the `#` of these lines, then run `opentool trust`",
                    ),
                    None => (
                        format!("its library {title} is not in the folder, so that it must be named"),
                        "that is not in this folder: name it",
                    ),
                };
                self.note(&finding.file, None, &format!("an OpenDyn document; {what}"));
                let name = self.name(&stem_of(&finding.file));
                let library = installed.unwrap_or_else(|| format!("{title}.so"));
                let commented = commented(&lines(&name, &quoted(&library)));
                self.write(&format!("\n# {file} describes a C library {comment}.\n{commented}"));
            }
        }
    }

    /// A workflow is served where the functions of its steps are.
    fn add_workflow(&mut self, finding: &Finding, tool: &str, functions: &[String]) {
        let mut tools: BTreeSet<&str> = BTreeSet::new();
        let mut missing = None;
        for function in functions {
            let owner = self.callable.iter().find(|(_, own)| own.contains(function)).map(|(name, _)| name.as_str());
            match owner.or_else(|| is_demo_tool(function).then_some("demo")) {
                Some(owner) => drop(tools.insert(owner)),
                None => missing = missing.or(Some(one_line(function))),
            }
        }
        let tools = tools.into_iter().map(quoted).collect::<Vec<_>>().join(", ");
        let document = quoted(&shown(&finding.file));
        let lines =
            |name: &str| format!("[sources.{name}]\nkind = \"workflow\"\ndocument = {document}\ntools = [{tools}]\n");
        match missing {
            None => {
                let own = [tool.to_owned()];
                let (name, prefix) = self.served(&finding.file, &own, "an OpenWorkflow document");
                self.write(&format!(
                    "\n# A tool whose steps are calls of the tools of other sources.\n{}{prefix}",
                    lines(&name)
                ));
            }
            Some(function) => {
                let name = self.name(&stem_of(&finding.file));
                let what = format!("an OpenWorkflow document; no source has the function `{function}` of its steps");
                self.note(&finding.file, None, &what);
                let why = format!("# A workflow, whose function `{function}` no source here has: name one in `tools`.");
                self.write(&format!("\n{why}\n{}", commented(&lines(&name))));
            }
        }
    }

    /// Programs that a file of the folder names are not started before the user has read what they are.
    fn add_mcp(&mut self, file: &Path, name: &str, entry: &Map<String, Value>) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let file_name = shown(file);
        if [text("type"), text("transport")].iter().flatten().any(|way| way.eq_ignore_ascii_case("sse")) {
            let name = one_line(name);
            let what = "speaks HTTP+SSE, an older form of MCP that is not spoken here";
            self.note(file, None, &format!("the MCP server `{name}`, which {what}"));
            self.write(&format!(
                "\n# The MCP server `{name}` of {file_name} {what}. Where it has a URL\n# for streamable HTTP too, describe it \
                 as a source with that `url`.\n"
            ));
            return;
        }
        let (table, name) = (self.name(name), one_line(name));
        let mut lines = format!("[sources.{table}]\nkind = \"mcp\"\n");
        for key in ["command", "url", "cwd"] {
            if let Some(value) = text(key) {
                let _ = writeln!(lines, "{key} = {}", quoted(value));
            }
        }
        if let Some(Value::Array(arguments)) = entry.get("args") {
            let arguments: Vec<_> = arguments.iter().filter_map(Value::as_str).map(quoted).collect();
            let _ = writeln!(lines, "args = [{}]", arguments.join(", "));
        }
        for key in ["env", "headers"] {
            if let Some(Value::Object(pairs)) = entry.get(key) {
                let mut written = Vec::new();
                for (name, value) in pairs.iter().filter_map(|(name, value)| Some((name, value.as_str()?))) {
                    let bearer = value.strip_prefix("Bearer ").filter(|_| name.eq_ignore_ascii_case("authorization"));
                    if let Some(token) = bearer {
                        // A key of the table is sent as such a header.
                        let own = format!("{}_KEY", variable_of(&table));
                        let variable = variable_in(token).unwrap_or(&own);
                        let _ = writeln!(
                            lines,
                            "# The variable has the key alone, without `Bearer`.\nkey = {{ env = {} }}",
                            quoted(variable)
                        );
                    } else {
                        if name.eq_ignore_ascii_case("authorization") && variable_in(value).is_none() {
                            lines.push_str(
                                "# The variable AUTHORIZATION has the whole value, with the word before the key.\n",
                            );
                        }
                        written.push(pair(name, value));
                    }
                }
                if !written.is_empty() {
                    let _ = writeln!(lines, "{key} = {{ {} }}", written.join(", "));
                }
            }
        }
        let _ = writeln!(lines, "prefix = {}", quoted(&format!("{table}_")));
        self.note(
            file,
            None,
            &format!("the MCP server `{name}`, which is written as a comment: read it, then take the `#` away"),
        );
        let why = match text("url") {
            Some(_) => "Calls would be sent to its URL, so read it",
            None => "It would run with all that you may do, so read it",
        };
        self.write(&format!(
            "\n# The MCP server `{name}` of {file_name}. {why}, take the `#` away, and run\n# `opentool trust`.\n{}",
            commented(&lines)
        ));
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn note(&mut self, file: &Path, source: Option<String>, note: &str) {
        self.notes.push(FindingNote { file: file.to_owned(), source, note: note.to_owned() });
    }

    /// Adds a source that is served, with its functions, and returns its name, and the line with its prefix where another source has a
    /// function of the same name.
    fn served(&mut self, file: &Path, functions: &[String], note: &str) -> (String, String) {
        let name = self.name(&stem_of(file));
        self.note(file, Some(name.clone()), note);
        let is_taken = |function| self.callable.iter().any(|(_, taken)| taken.contains(function));
        let clash = functions.iter().find(|function| is_taken(*function));
        let (prefix, line) = match clash {
            Some(function) => {
                let prefix = format!("{name}_");
                let line =
                    format!("# Another source has a `{}` too.\nprefix = {}\n", one_line(function), quoted(&prefix));
                (prefix, line)
            }
            None => (String::new(), String::new()),
        };
        let functions = functions.iter().map(|function| format!("{prefix}{function}")).collect();
        self.callable.push((name.clone(), functions));
        (name, line)
    }

    /// A name for a source that no other one has.
    fn name(&mut self, wanted: &str) -> String {
        let wanted: String =
            wanted.chars().map(|char| if char.is_ascii_alphanumeric() || char == '_' { char } else { '-' }).collect();
        let wanted = if wanted.is_empty() || wanted == "demo" { "tools".to_owned() } else { wanted };
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let name = [wanted.clone()].into_iter().chain(numbered).find(|name| !self.names.contains(name));
        let name = name.unwrap_or(wanted);
        self.names.insert(name.clone());
        name
    }
}

fn is_demo_tool(name: &str) -> bool {
    demo::toolbox().is_ok_and(|toolbox| toolbox.contains(name))
}

/// A text of a file of the folder for a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.replace(|char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}'), "?")
}

/// A variable or a header; what is secret is taken from the environment.
fn pair(name: &str, value: &str) -> String {
    let variable = variable_in(value);
    let key = if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        name.to_owned()
    } else {
        quoted(name)
    };
    match variable {
        Some(variable) => format!("{key} = {{ env = {} }}", quoted(variable)),
        None if is_secret(name) => format!("{key} = {{ env = {} }}", quoted(&variable_of(name))),
        None => format!("{key} = {}", quoted(value)),
    }
}

/// The variable that `${VARIABLE}` stands for.
fn variable_in(value: &str) -> Option<&str> {
    value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).filter(|name| !name.contains(':'))
}

/// A word of a command that someone copies.
fn shell_word(word: &str) -> Cow<'_, str> {
    next_step::quoted(word).unwrap_or(Cow::Borrowed(word))
}

/// A model, by the key that an example of the environment has.
fn model(findings: &[Finding]) -> String {
    let named = findings.iter().find_map(|finding| match &finding.what {
        FolderItem::Variables(names) => {
            ProviderName::all().find(|provider| names.iter().any(|name| *name == provider.variables()[0]))
        }
        _ => None,
    });
    let (provider, name) = match named {
        None | Some(ProviderName::Ollama) => (ProviderName::Ollama, "qwen3"),
        Some(provider) => (provider, "NAME"),
    };
    let key =
        named.map(|provider| format!("# key = {{ env = \"{}\" }}\n", provider.variables()[0])).unwrap_or_default();
    format!(
        "\n# The model of `opentool chat`, and of chats in the page.\n# [model]\n# provider = \"{provider}\"\n# name = \"{name}\"\n{key}"
    )
}

fn commented(lines: &str) -> String {
    lines.lines().map(|line| if line.starts_with('#') { format!("{line}\n") } else { format!("# {line}\n") }).collect()
}

fn variable_of(name: &str) -> String {
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' }).collect()
}

/// A path with slashes, as TOML files have it on every system.
fn shown(file: &Path) -> String {
    let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    one_line(&parts.join("/"))
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(char));
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
