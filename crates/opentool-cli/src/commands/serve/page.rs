//! The web page of a server, and the browser that shows it.

use std::{
    env, fs,
    io::{self, IsTerminal as _, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use opentool_chat::ChatModel;
use opentool_journal::SqliteJournal;
use opentool_page::{Page, PageTokens};
use opentool_server::BoundServer;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    address::reachable,
    options::Options,
    tool_set::{ShownSource, ToolSet},
};
use crate::{
    failure::Failure,
    programs,
    setting::is_loopback,
    terminal::{visible, warn},
};

/// How long what opens pages may take to fail. One that ends later was most likely closed by its user.
const OPENING: Duration = Duration::from_secs(10);

/// Where the page is.
pub(super) const PATH: &str = "/ui";

/// Whether the page is served: on this machine, or where the operator says so.
fn is_served(options: &Options) -> Result<bool, Failure> {
    match (options.page, options.no_page) {
        (Some(true), Some(true)) => Err(Failure::usage("`--page` and `--no-page`: leave one of them out")),
        (_, Some(true)) | (Some(false), _) => Ok(false),
        (Some(true), _) => Ok(true),
        // The file comes after the command line; the default is this machine.
        _ => Ok(options.page_enabled.unwrap_or_else(|| options.host.as_deref().is_none_or(is_loopback))),
    }
}

/// Makes the page, where it is served.
pub(super) fn page(
    options: &Options,
    content: PageContent,
    journal: Option<SqliteJournal>,
) -> Result<Option<Page>, Failure> {
    if !is_served(options)? {
        return Ok(None);
    }
    let chat = content.clone();
    let mut page = Page::new()
        .path(PATH)
        .version(env!("CARGO_PKG_VERSION"))
        .secure(options.tls_cert.is_some())
        .sources(move || {
            let shown = content.get().sources;
            async move {
                let mut sources = Vec::with_capacity(shown.len());
                for source in shown.iter() {
                    sources.push(source.look().await);
                }
                sources
            }
        })
        .chat_from({
            let content = chat.clone();
            move || content.get().model
        })
        .chat_run_details(move || chat.get().run_details);
    if let Some(path) = options.mcp_path() {
        page = page.mcp_path(path);
    }
    if let Some(journal) = journal {
        page = page.journal(journal);
    }
    Ok(Some(page))
}

/// What the page has of the configuration, which may change while it is served. A clone shares it.
#[derive(Clone)]
pub(super) struct PageContent(Arc<Mutex<ConfiguredPage>>);

/// What the page has of a configuration.
#[derive(Clone)]
struct ConfiguredPage {
    sources: Arc<[ShownSource]>,
    /// The model that people chat with.
    model: Option<ChatModel>,
    /// What is stored with a turn of theirs.
    run_details: Value,
}

impl PageContent {
    pub(super) fn new(set: &ToolSet, model: Option<ChatModel>, run_details: Value) -> Self {
        Self(Arc::new(Mutex::new(ConfiguredPage { sources: set.shown(), model, run_details })))
    }

    /// Takes those of another configuration.
    pub(super) fn replace(&self, set: &ToolSet, model: Option<ChatModel>, run_details: Value) {
        let configured = ConfiguredPage { sources: set.shown(), model, run_details };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = configured;
    }

    fn get(&self) -> ConfiguredPage {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What opens pages: a program and its words, in which `%s` stands for the address, which comes last otherwise.
#[derive(Debug)]
pub(super) struct Browser {
    program: PathBuf,
    words: Vec<String>,
}

/// Finds what opens pages, before anything is served.
pub(super) fn find_browser(options: &Options) -> Result<Browser, Failure> {
    if !is_served(options)? {
        return Err(Failure::usage(
            "`--open` opens the page, which is not served here: leave out `--no-page`, or give `--page` beyond this machine",
        ));
    }
    // Several may be listed, as the variable is used on Unix.
    let listed = env::var("BROWSER").unwrap_or_default();
    let listed = listed.split(':').filter_map(|command| {
        let mut words = shlex::split(command)?.into_iter();
        Some((words.next()?, words.collect()))
    });
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut candidates = listed.chain([(usual.to_owned(), Vec::new())]);
    let found = candidates.find_map(|(program, words)| {
        Some(Browser { program: programs::find(Path::new(&program), Path::new("."))?, words })
    });
    found.ok_or_else(|| {
        Failure::usage(format!(
            "`--open` found no browser: there is no `{usual}`, and the variable BROWSER names no program that is there; \
             set BROWSER, or run `opentool serve` at a terminal and open the address that it prints"
        ))
    })
}

/// Lets people in: prints the address of the page to a terminal unless `--json` has standard output, and opens it in a
/// browser. What is returned is kept while the server runs.
pub(super) fn offer(
    options: &Options,
    bound: &BoundServer,
    tokens: Option<PageTokens>,
    browser: Option<&Browser>,
    prints: bool,
) -> Result<Option<OpenedPage>, Failure> {
    let (Some(tokens), Ok(address)) = (tokens, bound.local_addr()) else { return Ok(None) };
    let url = url(options, address);
    let opened = match browser {
        Some(browser) => Some(open(browser, &url, &tokens, prints)?),
        None => None,
    };
    let file = opened.as_ref().map(|opened| opened.0.clone());
    if prints {
        print_address(&url, &tokens, browser.is_some());
    }
    tokio::spawn(async move {
        loop {
            tokens.used().await;
            // The browser has read it.
            if let Some(file) = &file {
                drop(file.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
            if prints {
                print_address(&url, &tokens, true);
            }
        }
    });
    Ok(opened)
}

fn url(options: &Options, address: SocketAddr) -> String {
    let scheme = if options.tls_cert.is_some() { "https" } else { "http" };
    format!("{scheme}://{}{PATH}/", reachable(address))
}

/// Prints an address that is good for one sign-in: to a terminal, since a log or a pipe may be read by others.
fn print_address(url: &str, tokens: &PageTokens, is_next: bool) {
    let mut stdout = io::stdout();
    let line = if !stdout.is_terminal() {
        if is_next {
            return;
        }
        format!("page:  {}", visible(url))
    } else {
        let Some(token) = tokens.issue() else { return };
        let words = if is_next { "page, for another browser" } else { "page, for one sign-in" };
        format!("{words}:  {}#token={token}", visible(url))
    };
    // A closed terminal is no reason not to serve.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// The file that sends a browser to the page; removed when it was read, and at the end.
pub(super) struct OpenedPage(Arc<Mutex<Option<TempDir>>>);

impl Drop for OpenedPage {
    fn drop(&mut self) {
        // The task that waits for its use has it too, and may outlive the server.
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Opens the page. A token on a command line would show in `ps`, so the browser gets a file that only this user can read.
fn open(browser: &Browser, url: &str, tokens: &PageTokens, prints: bool) -> Result<OpenedPage, Failure> {
    let token =
        tokens.issue().ok_or_else(|| Failure::usage("the system has no random bytes for the page's address"))?;
    let folder = private_folder().map_err(|source| redirect_failure(&source))?;
    let file = folder.path().join("open.html");
    write_private(&file, &redirect(url, &token)).map_err(|source| redirect_failure(&source))?;
    let mut command = Command::new(&browser.program);
    let given = file.to_string_lossy();
    let has_place = browser.words.iter().any(|word| word.contains("%s"));
    command.args(browser.words.iter().map(|word| word.replace("%s", &given)));
    if !has_place {
        command.arg(&file);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Reaped on a thread of its own: a browser may run for as long as the server.
        Ok(mut child) => {
            let (program, url, tokens) = (browser.program.display().to_string(), url.to_owned(), tokens.clone());
            let start = Instant::now();
            std::thread::spawn(move || {
                let Ok(status) = child.wait() else { return };
                if !status.success() && start.elapsed() < OPENING {
                    let how = status.code().map_or_else(|| status.to_string(), |code| format!("ended with {code}"));
                    warn(&format_args!("could not open a browser ({} {how})", visible(&program)));
                    if prints && io::stdout().is_terminal() {
                        print_address(&url, &tokens, false);
                    }
                }
            });
        }
        Err(error) => {
            let program = browser.program.display().to_string();
            warn(&format_args!("{} cannot be run: {error}; open the page yourself", visible(&program)));
        }
    }
    Ok(OpenedPage(Arc::new(Mutex::new(Some(folder)))))
}

fn redirect_failure(source: &io::Error) -> Failure {
    Failure::usage(format!("the file that opens the page cannot be written: {source}; leave out `--open`"))
}

/// Makes a folder that only its owner can open, from the beginning.
fn private_folder() -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("opentool-page-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        folder.permissions(fs::Permissions::from_mode(0o700));
    }
    folder.tempdir()
}

/// Writes a file that only its owner can read, from the beginning.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}

/// A page that sends its reader on. The address has no character that means something in HTML.
fn redirect(url: &str, token: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0;url={url}#token={token}\">\n<title>opentool</title>\n"
    )
}
