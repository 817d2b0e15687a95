//! `opentool mcp login`: a login at an MCP server that wants OAuth.

use std::{
    env,
    io::{self, BufRead as _},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use clap::Args;
use opentool_mcp::{OAuthLogin, PendingLogin, ServerUrl};
use serde_json::json;
use tokio::sync::oneshot;

use super::ExitStatus;
use crate::{
    failure::Failure,
    logins,
    runtime::block_on,
    source_tables::{McpOrigin, NamedSources, SourceOrigin},
    terminal::{note, visible, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool mcp login https://tools.example/mcp
  opentool mcp login tickets            The source `[sources.tickets]` of opentool.toml
  opentool mcp login --no-browser https://tools.example/mcp

The URL to open is printed, and opened in a browser. The browser comes back to a port of this machine; where it
runs on another one, paste the URL that it was sent to (with --no-browser). The tokens stand in a file that only
you can read, are renewed when they end, and are used by every command that gets the same URL.

With --json, there is an object {url} with the URL to open, and, once you are logged in, a second one {server}.

Exit codes: 0 logged in; 2 wrong usage; 3 the server cannot be reached; 4 the login failed.";

/// Log in at an MCP server that wants it (OAuth), so that its tools can be used
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Login {
    /// The URL of the server, such as https://tools.example/mcp, or the name of a table `[sources.NAME]`
    #[arg(value_name = "URL|NAME")]
    server: String,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Opens no browser: prints the URL, and takes the one that the browser was sent to
    #[arg(long)]
    no_browser: bool,
    /// The id of a client that was registered before [default: the server is asked for one]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The variable of the environment that has the secret of that client
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    client_secret_env: Option<String>,
    /// What to ask for; repeatable [default: what the server names]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The port of this machine to which the browser comes back [default: a free one]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Login {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        block_on(self.log_in())?;
        Ok(ExitStatus::Success)
    }

    async fn log_in(&self) -> Result<(), Failure> {
        let url = self.url()?;
        let login = self.prepared(&url)?.begin().await.map_err(Failure::mcp)?;
        note(&"Open this URL in a browser and log in:");
        let opened = if self.json { json!({ "url": login.url() }).to_string() } else { login.url().to_owned() };
        write_data(&format!("{opened}\n")).map_err(Failure::output)?;
        if self.no_browser {
            note(&"Then, if the browser is not on this machine, paste the URL here that it was sent to.");
            self.finish_by_hand(&login).await?;
        } else {
            open_browser(login.url());
            login.wait().await.map_err(Failure::mcp)?;
        }
        note(&format_args!("logged in at {}", visible(&url)));
        if self.json {
            write_data(&format!("{}\n", json!({ "server": url }))).map_err(Failure::output)?;
        }
        Ok(())
    }

    /// The URL, without what tells it from that of another protocol.
    fn url(&self) -> Result<String, Failure> {
        if self.server.contains("://") {
            return Ok(self.server.strip_prefix("mcp+").unwrap_or(&self.server).to_owned());
        }
        let named = NamedSources::new(self.config.as_deref(), "mcp login");
        let shown = visible(&self.server);
        match named.find(&self.server)?.map(|table| &table.origin) {
            Some(SourceOrigin::Mcp(McpOrigin::Url { url, .. })) => Ok(url.clone()),
            Some(_) => {
                Err(Failure::usage(format!("`{shown}` is no MCP server with a URL, so there is no login at it")))
            }
            None => {
                let near = named.near(&self.server).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let message = "is no URL, and no table [sources.NAME] has that name";
                Err(Failure::usage(format!("`{shown}` {message}{near}")))
            }
        }
    }

    fn prepared(&self, url: &str) -> Result<OAuthLogin, Failure> {
        let Some(folder) = logins::folder() else {
            return Err(Failure::usage("there is no folder for the tokens: set XDG_STATE_HOME to one"));
        };
        let mut login = OAuthLogin::new(ServerUrl::new(url).tokens_in(folder)).scopes(self.scope.iter());
        if let Some(id) = &self.client_id {
            login = login.client_id(id);
        }
        if let Some(name) = &self.client_secret_env {
            let secret = env::var(name).map_err(|_| {
                Failure::usage(format!("the variable `{}` of the environment is not set", visible(name)))
            })?;
            login = login.client_secret(secret);
        }
        Ok(match self.port {
            Some(port) => login.redirect_port(port),
            None => login,
        })
    }

    /// Waits for the browser, or for a URL that is typed.
    async fn finish_by_hand(&self, login: &PendingLogin) -> Result<(), Failure> {
        let (sender, typed) = oneshot::channel();
        // It may wait for a line when the browser has come back already.
        thread::spawn(move || {
            let line = io::stdin().lock().lines().map_while(Result::ok).find(|line| !line.trim().is_empty());
            line.map(|line| sender.send(line))
        });
        tokio::select! {
            waited = login.wait() => waited,
            Ok(url) = typed => login.finish(&url).await,
        }
        .map_err(Failure::mcp)
    }
}

/// Opens a URL in the user's browser, where there is one; the URL was printed too.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new(program)
    };
    let opened = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut browser) = opened {
        thread::spawn(move || browser.wait());
    }
}
