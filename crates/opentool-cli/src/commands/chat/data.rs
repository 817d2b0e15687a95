//! Where conversations are kept.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// The file of conversations.
const MEMORY: &str = "conversations.sqlite";
/// The file of lines that were typed.
const HISTORY: &str = "chat-history.txt";

/// The folder of this user's data.
#[derive(Debug)]
pub(super) struct DataFolder(PathBuf);

impl DataFolder {
    /// The folder where this system has such data.
    pub(super) fn of_user() -> Result<Self, Failure> {
        let path = |name: &str| env::var_os(name).filter(|path| Path::new(path).is_absolute());
        find(path, env::home_dir().map(PathBuf::into_os_string)).map(DataFolder).ok_or_else(|| {
            Failure::usage("there is no folder to keep conversations in: set HOME, or give a file with `--memory`")
        })
    }

    /// Makes the folder, accessible to its owner only.
    pub(super) fn make(&self) -> Result<(), Failure> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0).map_err(|source: io::Error| {
            let name = self.0.to_string_lossy().into_owned();
            Failure::Write { name, source }
        })
    }

    pub(super) fn memory(&self) -> PathBuf {
        self.0.join(MEMORY)
    }

    pub(super) fn history(&self) -> PathBuf {
        self.0.join(HISTORY)
    }
}

/// The folder of the environment, otherwise the usual one of the system.
fn find(variable: impl Fn(&str) -> Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let folder = match variable("XDG_DATA_HOME") {
        Some(folder) => PathBuf::from(folder),
        None if cfg!(windows) => PathBuf::from(variable("LOCALAPPDATA")?),
        None if cfg!(target_os = "macos") => PathBuf::from(home?).join("Library/Application Support"),
        None => PathBuf::from(home.filter(|home| !home.is_empty())?).join(".local/share"),
    };
    Some(folder.join("opentool"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_environment_goes_before_the_home_folder() {
        let chosen = find(|name| (name == "XDG_DATA_HOME").then(|| "/data".into()), Some("/home/me".into()));
        assert_eq!(chosen, Some(PathBuf::from("/data/opentool")));
        #[cfg(target_os = "linux")]
        assert_eq!(find(|_| None, Some("/home/me".into())), Some(PathBuf::from("/home/me/.local/share/opentool")));
        assert_eq!(find(|_| None, None), None);
    }
}
