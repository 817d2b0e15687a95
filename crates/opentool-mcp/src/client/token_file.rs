//! Where the tokens of a login are kept: [`TokenFile`].

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::{OAuthTokenResponse, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;

/// How long before its end a token is renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(30);

/// The file that has the tokens of a login at an MCP server: what an [`OAuthLogin`](crate::OAuthLogin) writes, and a
/// [`ServerUrl`](crate::ServerUrl) reads.
///
/// Only its owner can read it (mode 0600). It is written in one step, and processes that share it renew a token one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile(PathBuf);

/// What a login gave, as it stands in the file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedTokens {
    /// The URL of the server that the tokens are for.
    pub(crate) server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    #[serde(flatten)]
    pub(crate) credentials: StoredCredentials,
}

/// The right to renew the tokens, until it is dropped.
pub(crate) struct RenewalLock {
    _file: File,
}

impl TokenFile {
    /// Takes the path of a file, which need not be there yet. Its folder is made with the file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Takes the file of a server in a folder of such files.
    ///
    /// ```
    /// use opentool_mcp::TokenFile;
    ///
    /// let file = TokenFile::in_folder("/logins", "https://tools.example/mcp");
    /// assert_eq!(file.path().to_str(), Some("/logins/https_3a_2f_2ftools.example_2fmcp.json"));
    /// ```
    pub fn in_folder(folder: impl AsRef<Path>, url: &str) -> Self {
        let mut name = String::with_capacity(url.len() + 16);
        for byte in url.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-') {
                name.push(char::from(byte));
            } else {
                // Writing to a string does not fail.
                let _ = write!(name, "_{byte:02x}");
            }
        }
        Self(folder.as_ref().join(name + ".json"))
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the file. The server does not learn of it.
    ///
    /// # Errors
    ///
    /// Where there is such a file and it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the tokens for a server; none where there is no file.
    pub(crate) async fn read(&self, server: &str) -> io::Result<Option<SavedTokens>> {
        let (path, server) = (self.0.clone(), server.to_owned());
        run(move || {
            let text = match fs::read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let saved: SavedTokens = serde_json::from_slice(&text).map_err(|error| invalid(&error.to_string()))?;
            // A URL that was changed in a configuration must not get the tokens of another server.
            if saved.server != server {
                return Err(invalid(&format!("its tokens are for `{}`", saved.server)));
            }
            Ok(Some(saved))
        })
        .await
    }

    /// Writes tokens in one step.
    pub(crate) async fn write(&self, tokens: &SavedTokens) -> io::Result<()> {
        let (path, text) = (self.0.clone(), serde_json::to_vec_pretty(tokens)?);
        run(move || {
            let folder = make_folder(&path)?;
            // A temporary file is its owner's only.
            let mut temporary = tempfile::Builder::new().prefix(".opentool-").tempfile_in(folder)?;
            temporary.write_all(&text)?;
            temporary.as_file().sync_all()?;
            temporary.persist(&path)?;
            Ok(())
        })
        .await
    }

    /// Waits until no other process renews the tokens.
    pub(crate) async fn lock(&self) -> io::Result<RenewalLock> {
        let mut name = self.0.clone().into_os_string();
        name.push(".lock");
        let path = PathBuf::from(name);
        run(move || {
            make_folder(&path)?;
            let mut options = File::options();
            options.create(true).truncate(false).write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            file.lock()?;
            Ok(RenewalLock { _file: file })
        })
        .await
    }
}

impl SavedTokens {
    /// The token that requests carry.
    pub(crate) fn access_token(&self) -> Option<String> {
        self.member("access_token")?.as_str().map(str::to_owned)
    }

    pub(crate) fn has_refresh_token(&self) -> bool {
        self.member("refresh_token").is_some_and(|token| token.is_string())
    }

    /// Says whether the token has ended, or is about to.
    pub(crate) fn is_expired(&self) -> bool {
        let lifetime = self.member("expires_in").and_then(|seconds| seconds.as_u64());
        let (Some(lifetime), Some(received)) = (lifetime, self.credentials.token_received_at) else { return false };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now + RENEWED_BEFORE >= Duration::from_secs(received.saturating_add(lifetime))
    }

    /// A member of the answer that gave the tokens, whose type hides them.
    fn member(&self, name: &str) -> Option<Value> {
        let answer: &OAuthTokenResponse = self.credentials.token_response.as_ref()?;
        serde_json::to_value(answer).ok()?.get_mut(name).map(Value::take)
    }
}

fn make_folder(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    Ok(folder)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

async fn run<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
