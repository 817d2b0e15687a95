//! What is enforced on a C library, found out by trying: a worker process does what a library must not.
//!
//! The functions that it calls are those of the C library itself, so that nothing has to be compiled.

use std::{fs, path::Path};

use opentool::{ErrorKind, Executor, Host, ToolError, ToolOutput};
use opentool_dyn::{Confinement, DynLibrary, Permissions};
use serde_json::{Value, json};

use super::diagnosis::Diagnosis;
use crate::{failure::Failure, runtime::block_on};

const AREA: &str = "sandbox";

/// The library that has the functions.
const C_LIBRARY: &str = "libc.so.6";

/// What is tried, as functions of the C library.
const ATTEMPTS: &str = include_str!("sandbox/attempts.opendyn.json");

/// The system call that makes a set of rules, on every architecture; asked for nothing, it says which version of Landlock there is.
const LANDLOCK_CREATE_RULESET: u32 = 444;

/// What to do where the sandbox is not as it should be.
const REPORT: &str = "report this, with what `opentool --version` prints";

/// Tries everything that a library must not do.
pub(super) fn try_all() -> Result<Vec<Diagnosis>, Failure> {
    if cfg!(not(target_os = "linux")) {
        let text = format!("on {} nothing keeps a C library from anything but its process", std::env::consts::OS);
        return Ok(vec![Diagnosis::missing(AREA, "C libraries", text, "use only libraries that you trust")]);
    }
    // A file of ours, which any program of this user can read.
    let made = tempfile::tempdir().and_then(|folder| {
        let file = folder.path().join("file");
        fs::write(&file, "x").map(|()| (folder, file))
    });
    let (folder, file) = match made {
        Ok(made) => made,
        Err(source) => {
            let text = format!("there is no folder for temporary files: {source}");
            return Ok(vec![Diagnosis::failed(
                AREA,
                "attempts",
                text,
                Some("set TMPDIR to a folder that you can write to".to_owned()),
            )]);
        }
    };
    block_on(async {
        let mut all = Vec::new();
        let worker = match Worker::start(Permissions::new()) {
            Ok(worker) => worker,
            Err(refused) => {
                // As root, a library whose files cannot be confined does not run; the rest can be tried all the same.
                all.push(*refused);
                match Worker::start(Permissions::new().unconfined_files(true)) {
                    Ok(worker) => worker,
                    Err(_) => return Ok(all),
                }
            }
        };
        all.push(worker.runs().await);
        all.push(worker.landlock().await);
        all.push(worker.reading(&file).await);
        all.push(worker.writing(&folder.path().join("made")).await);
        all.push(worker.network().await);
        all.push(worker.processes().await);
        all.push(worker.memory_files().await);
        all.push(worker.memory().await);
        Ok(all)
    })
}

/// A worker process with the C library in it.
struct Worker {
    host: Host,
    confinement: Confinement,
}

/// How an attempt ended.
enum Attempt {
    /// The sandbox refused it.
    Refused,
    /// The library got what it wanted.
    Succeeded,
    /// It is not known, for instance because the worker ended.
    Unknown(String),
}

impl Worker {
    fn start(permissions: Permissions) -> Result<Self, Box<Diagnosis>> {
        let opened = DynLibrary::builder().document_text(ATTEMPTS).library(C_LIBRARY).permissions(permissions).open();
        let library = opened.map_err(|error| {
            let next = "another user than root, on Linux 5.13 or newer with the GNU C library";
            Box::new(Diagnosis::missing(AREA, "start", format!("no worker could be started: {error}"), next))
        })?;
        let confinement = library.confinement().cloned().unwrap_or_default();
        Ok(Worker { host: Executor::new().host(library), confinement })
    }

    async fn call(&self, function: &str, arguments: Value) -> Result<Value, ToolError> {
        let output = self.host.call(function, arguments.to_string()).await?;
        let value = match &output {
            ToolOutput::Json(json) => serde_json::from_str(json.get()).unwrap_or_default(),
            _ => Value::Null,
        };
        Ok(value)
    }

    /// Calls a function that gives a negative number where it fails.
    async fn attempt(&self, function: &str, arguments: Value) -> Attempt {
        match self.call(function, arguments).await {
            Ok(answer) => match answer["result"].as_i64() {
                Some(..0) if is_refusal(answer["errno"].as_i64()) => Attempt::Refused,
                Some(..0) => Attempt::Unknown(format!("it failed for another reason: {answer}")),
                Some(_) => Attempt::Succeeded,
                None => Attempt::Unknown(format!("it answered {answer}")),
            },
            Err(error) if error.kind() == ErrorKind::Denied => Attempt::Refused,
            Err(error) => Attempt::Unknown(error.message().to_owned()),
        }
    }

    async fn runs(&self) -> Diagnosis {
        match self.call("getpid", json!({})).await {
            Ok(answer) if answer["result"].as_i64() != Some(i64::from(std::process::id())) => {
                Diagnosis::ok(AREA, "worker", "C libraries run in a process of their own")
            }
            Ok(answer) => Diagnosis::failed(
                AREA,
                "worker",
                format!("the library runs in this process: {answer}"),
                Some(REPORT.to_owned()),
            ),
            Err(error) => Diagnosis::failed(AREA, "worker", error.message(), Some(REPORT.to_owned())),
        }
    }

    /// Which version of Landlock there is. A worker without the filter of system calls asks.
    async fn landlock(&self) -> Diagnosis {
        let arguments = json!({ "number": LANDLOCK_CREATE_RULESET, "attributes": 0, "size": 0, "flags": 1 });
        let version = match Worker::start(Permissions::new().unsafe_calls(true).unconfined_files(true)) {
            Ok(worker) => worker.call("system_call", arguments).await.ok().and_then(|answer| answer["result"].as_i64()),
            Err(_) => None,
        };
        match version {
            Some(version @ 6..) => {
                Diagnosis::ok(AREA, "Landlock", format!("version {version} of the kernel's interface"))
            }
            Some(version @ 1..) => Diagnosis::missing(
                AREA,
                "Landlock",
                format!("version {version} of the kernel's interface: it does not check all that version 6 does"),
                "Linux 6.12 or newer",
            ),
            _ => Diagnosis::missing(
                AREA,
                "Landlock",
                "the kernel has none, or it is switched off: files are not out of a library's reach",
                "Linux 6.12 or newer, with `landlock` in the kernel's option `lsm=`",
            ),
        }
    }

    async fn reading(&self, file: &Path) -> Diagnosis {
        let arguments = json!({ "path": file, "flags": 0 });
        // That it works with the permission shows that it is the sandbox that refuses it.
        let permissions = Permissions::new().read(file).unconfined_files(true);
        let allowed = match Worker::start(permissions) {
            Ok(worker) => worker.attempt("open", arguments.clone()).await,
            Err(diagnosis) => return *diagnosis,
        };
        if let Attempt::Refused | Attempt::Unknown(_) = allowed {
            let text = "a library cannot even read the file that it is permitted to read".to_owned();
            return Diagnosis::failed(AREA, "read files", text, Some(REPORT.to_owned()));
        }
        self.judge("read files", "open", arguments, self.confinement.files).await
    }

    async fn writing(&self, file: &Path) -> Diagnosis {
        const WRITE_AND_CREATE: u32 = 0o101;
        let arguments = json!({ "path": file, "flags": WRITE_AND_CREATE });
        self.judge("write files", "open", arguments, self.confinement.files || self.confinement.system_calls).await
    }

    async fn network(&self) -> Diagnosis {
        const INTERNET: u32 = 2;
        const STREAM: u32 = 1;
        let arguments = json!({ "domain": INTERNET, "type": STREAM, "protocol": 0 });
        self.judge("network", "socket", arguments, self.confinement.system_calls).await
    }

    async fn processes(&self) -> Diagnosis {
        if !self.confinement.system_calls {
            // A second worker would come of it.
            return not_enforced("processes");
        }
        self.judge("processes", "fork", json!({}), true).await
    }

    async fn memory_files(&self) -> Diagnosis {
        self.judge(
            "memory files",
            "memfd_create",
            json!({ "name": "doctor", "flags": 0 }),
            self.confinement.system_calls,
        )
        .await
    }

    /// Tries to take more memory than a worker has by default.
    async fn memory(&self) -> Diagnosis {
        const FOUR_GIB: u64 = 4 << 30;
        match self.call("malloc", json!({ "size": FOUR_GIB })).await {
            Ok(answer) if answer["result"].as_u64() == Some(0) => Diagnosis::ok(AREA, "memory", "tried and refused"),
            Err(error) if error.message().contains("no memory") => Diagnosis::ok(AREA, "memory", "tried and refused"),
            Ok(_) if self.confinement.limits => claimed_only("memory"),
            Ok(_) => not_enforced("memory"),
            Err(error) => Diagnosis::failed(AREA, "memory", error.message(), Some(REPORT.to_owned())),
        }
    }

    async fn judge(&self, name: &str, function: &str, arguments: Value, is_claimed: bool) -> Diagnosis {
        match self.attempt(function, arguments).await {
            Attempt::Refused => Diagnosis::ok(AREA, name, "tried and refused"),
            Attempt::Succeeded if is_claimed => claimed_only(name),
            Attempt::Succeeded => not_enforced(name),
            Attempt::Unknown(why) => Diagnosis::missing(AREA, name, format!("could not be tried: {why}"), REPORT),
        }
    }
}

/// `EPERM` and `EACCES`: what a sandbox answers.
fn is_refusal(errno: Option<i64>) -> bool {
    matches!(errno, Some(1 | 13))
}

fn not_enforced(name: &str) -> Diagnosis {
    let text = "not refused: this system cannot keep a C library from it";
    Diagnosis::missing(AREA, name, text, "use only libraries that you trust, or Linux 6.12 or newer")
}

/// The worker said that it is refused, and it is not.
fn claimed_only(name: &str) -> Diagnosis {
    let text = "not refused, although the worker said that it is";
    Diagnosis::failed(AREA, name, text, Some("use only libraries that you trust, and report this".to_owned()))
}
