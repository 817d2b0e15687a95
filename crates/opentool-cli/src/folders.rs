//! The folders of this user where the program keeps something: [`UserFolder`].

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// The name of our folder among those of other programs.
const OURS: &str = "opentool";

/// A folder of this user.
#[derive(Debug)]
pub(crate) struct UserFolder(PathBuf);

/// What kind of things are kept in a folder.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// What the user made.
    Data,
    /// What the program remembers.
    State,
}

impl UserFolder {
    /// The folder of what the user made; none where the system names no such place.
    pub(crate) fn data() -> Option<Self> {
        Self::for_content(Content::Data)
    }

    /// The folder of what the program remembers; none where the system names no such place.
    pub(crate) fn state() -> Option<Self> {
        Self::for_content(Content::State)
    }

    fn for_content(content: Content) -> Option<Self> {
        // A relative path would be another folder wherever the program is started.
        let path = |name: &str| env::var_os(name).filter(|path| Path::new(path).is_absolute());
        find(content, path, env::home_dir().map(PathBuf::into_os_string)).map(UserFolder)
    }

    /// A file or folder in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder, accessible to its owner only.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        make_private(&self.0)
    }
}

/// Makes a folder, accessible to its owner only.
pub(crate) fn make_private(folder: &Path) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source: io::Error| {
        let name = folder.to_string_lossy().into_owned();
        Failure::Write { name, source }
    })
}

/// The folder of the environment, otherwise the usual one of the system.
fn find(content: Content, variable: impl Fn(&str) -> Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let (name, below_home) = match content {
        Content::Data => ("XDG_DATA_HOME", ".local/share"),
        Content::State => ("XDG_STATE_HOME", ".local/state"),
    };
    let folder = match variable(name) {
        Some(folder) => PathBuf::from(folder),
        None if cfg!(windows) => PathBuf::from(variable("LOCALAPPDATA")?),
        None if cfg!(target_os = "macos") => PathBuf::from(home?).join("Library/Application Support"),
        None => PathBuf::from(home.filter(|home| !home.is_empty())?).join(below_home),
    };
    Some(folder.join(OURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_environment_goes_before_the_home_folder() {
        for (content, variable, usual) in [
            (Content::Data, "XDG_DATA_HOME", "/home/me/.local/share/opentool"),
            (Content::State, "XDG_STATE_HOME", "/home/me/.local/state/opentool"),
        ] {
            let chosen = find(content, |name| (name == variable).then(|| "/given".into()), Some("/home/me".into()));
            assert_eq!(chosen, Some(PathBuf::from("/given/opentool")));
            if cfg!(target_os = "linux") {
                assert_eq!(find(content, |_| None, Some("/home/me".into())), Some(PathBuf::from(usual)));
            }
            assert_eq!(find(content, |_| None, None), None);
        }
    }
}
