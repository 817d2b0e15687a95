//! What this machine has: programs, folders, a port.

use std::{
    env,
    io::{self, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use opentool_client::Client;
use opentool_dyn::find_library;
use opentool_journal::SqliteJournal;
use opentool_server::ListenAddr;

use super::diagnosis::Diagnosis;
use crate::{failure::Failure, folders::UserFolder, runtime::block_on};

const LIBRARIES: &str = "C libraries";
const FOLDERS: &str = "folders";
const SERVER: &str = "server";

/// The programs that `opentool dyn describe` starts, and a library for the first try.
pub(super) fn compilers() -> Vec<Diagnosis> {
    vec![compiler(), pkg_config(), libm()]
}

/// The C compiler, as `opentool dyn describe` finds it.
fn compiler() -> Diagnosis {
    const NEXT: &str =
        "install one, on Debian with `apt-get install gcc libc6-dev`, or name it in the environment variable CC";
    let given = env::var("CC").ok().filter(|name| !name.trim().is_empty());
    let command = given.unwrap_or_else(|| "cc".to_owned());
    let words = shlex::split(&command).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Diagnosis::missing(LIBRARIES, "compiler", format!("CC is no command: {command}"), NEXT);
    };
    let version = first_line(Command::new(program).args(arguments).arg("--version"));
    let Ok(version) = version else {
        let text = format!("`{command}` cannot be started: `opentool dyn describe` reads headers through it");
        return Diagnosis::missing(LIBRARIES, "compiler", text, NEXT);
    };
    if !reads_headers(program, arguments) {
        let text = format!("{version}, without the headers of the C library");
        return Diagnosis::missing(
            LIBRARIES,
            "compiler",
            text,
            "install them, on Debian with `apt-get install libc6-dev`",
        );
    }
    Diagnosis::ok(LIBRARIES, "compiler", format!("{version}, with headers"))
}

/// Whether a compiler finds the headers of the C library.
fn reads_headers(program: &str, arguments: &[String]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["-E", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut read = || -> io::Result<bool> {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(b"#include <stdio.h>\n#include <math.h>\n")?;
        }
        Ok(child.wait()?.success())
    };
    read().unwrap_or(false)
}

fn pkg_config() -> Diagnosis {
    match first_line(Command::new("pkg-config").arg("--version")) {
        Ok(version) => Diagnosis::ok(LIBRARIES, "pkg-config", version),
        Err(_) => Diagnosis::missing(
            LIBRARIES,
            "pkg-config",
            "not there: `opentool dyn describe --pkg` needs it",
            "install it, on Debian with `apt-get install pkg-config`",
        ),
    }
}

fn libm() -> Diagnosis {
    match find_library("libm.so.6") {
        Ok(path) => Diagnosis::ok(LIBRARIES, "libm", path.display().to_string()),
        Err(error) => Diagnosis::missing(
            LIBRARIES,
            "libm",
            error.to_string(),
            "the name that the library has on this system, for examples with `--library`",
        ),
    }
}

/// The first line that a program prints.
fn first_line(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().filter(|_| output.status.success()) {
        Some(line) => Ok(line.trim().to_owned()),
        None => Err(io::Error::other("it printed nothing")),
    }
}

/// The folders in which something is kept, and whether SQLite works in them.
pub(super) fn folders(journal: Option<&Path>) -> Result<Vec<Diagnosis>, Failure> {
    let mut all = Vec::new();
    let of_user = [
        ("state", "what `opentool trust` records", UserFolder::state(), "XDG_STATE_HOME"),
        ("data", "the conversations of `opentool chat`", UserFolder::data(), "XDG_DATA_HOME"),
    ];
    for (name, what, folder, variable) in of_user {
        let next = format!("set {variable} to a folder that you can write to");
        let Some(folder) = folder.map(|folder| folder.join("")) else {
            all.push(Diagnosis::missing(FOLDERS, name, format!("there is no folder for {what}"), next));
            continue;
        };
        all.push(match sqlite_works(&folder)? {
            Ok(()) => Diagnosis::ok(FOLDERS, name, format!("{}: {what}", folder.display())),
            Err(problem) => Diagnosis::missing(FOLDERS, name, format!("{}: {problem}", folder.display()), next),
        });
    }
    if let Some(journal) = journal {
        let folder = journal.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Unlike a user's own folders, it is not made by the program that writes the file.
        let works = if folder.is_dir() { sqlite_works(folder)? } else { Err("there is no such folder".to_owned()) };
        all.push(match works {
            Ok(()) => Diagnosis::ok(FOLDERS, "journal", journal.display().to_string()),
            Err(problem) => {
                let next = "a folder that you can write to, under `journal` of opentool.toml".to_owned();
                Diagnosis::failed(FOLDERS, "journal", format!("{}: {problem}", journal.display()), Some(next))
            }
        });
    }
    Ok(all)
}

/// Makes a journal in a folder, or in the first above it that exists, and removes it again.
fn sqlite_works(folder: &Path) -> Result<Result<(), String>, Failure> {
    let existing =
        folder.ancestors().find(|folder| folder.exists()).map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let made = match tempfile::Builder::new().prefix(".opentool-doctor-").tempdir_in(&existing) {
        Ok(made) => made,
        Err(error) => return Ok(Err(format!("cannot be written to: {error}"))),
    };
    block_on(async {
        Ok(match SqliteJournal::open(made.path().join("journal.sqlite")).await {
            Ok(journal) => {
                journal.close().await;
                Ok(())
            }
            Err(error) => Err(format!("SQLite does not work there: {error}")),
        })
    })
}

/// Whether the server can have its port.
pub(super) fn port(host: &str, port: u16) -> Result<Diagnosis, Failure> {
    let address = ListenAddr::from((host, port)).to_string();
    match TcpListener::bind(&address) {
        Ok(_) => Ok(Diagnosis::ok(SERVER, "port", format!("{address} is free"))),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if is_ours(&address)? {
                return Ok(Diagnosis::ok(SERVER, "port", format!("an OpenTool server answers at {address} already")));
            }
            let next = match (1..=20).map(|step| port.saturating_add(step)).find(|port| is_free(host, *port)) {
                Some(free) => format!("opentool serve --port {free}"),
                None => "opentool serve --port 0".to_owned(),
            };
            Ok(Diagnosis::missing(SERVER, "port", format!("{address} is taken by another program"), next))
        }
        Err(error) => {
            let next = Some("another address under `host` and `port` of opentool.toml".to_owned());
            Ok(Diagnosis::failed(SERVER, "port", format!("{address} cannot be bound: {error}"), next))
        }
    }
}

fn is_free(host: &str, port: u16) -> bool {
    TcpListener::bind(ListenAddr::from((host, port)).to_string()).is_ok()
}

/// Whether an OpenTool server answers at an address, with a key or without.
fn is_ours(address: &str) -> Result<bool, Failure> {
    let client = Client::new(format!("http://{address}")).timeout(Duration::from_secs(2)).retries(0);
    block_on(async {
        Ok(match client.version().await {
            Ok(_) => true,
            Err(error) => matches!(error, opentool_client::ClientError::Unauthorized),
        })
    })
}
