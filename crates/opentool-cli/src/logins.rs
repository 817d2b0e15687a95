//! Where the tokens of logins at MCP servers are kept.

use std::path::PathBuf;

use opentool_mcp::ServerUrl;

use crate::folders::UserFolder;

/// The folder of the tokens; none where the system names no such place.
pub(crate) fn folder() -> Option<PathBuf> {
    UserFolder::state().map(|state| state.join("mcp-logins"))
}

/// A server with the tokens of its login, where there was one. A key that is given counts more.
pub(crate) fn with_login(server: ServerUrl) -> ServerUrl {
    match folder() {
        Some(folder) => server.tokens_in(folder),
        None => server,
    }
}
