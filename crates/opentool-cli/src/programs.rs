//! Programs as a shell finds them.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::next_step::quoted;

/// The name under which this program is installed.
const NAME: &str = "opentool";

/// Finds the file of a program, as it would be started in a folder.
pub(crate) fn find(program: &Path, folder: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        let path = folder.join(program);
        return is_program(&path).then_some(path);
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file() || path.with_extension("cmd").is_file()
}

/// How a shell starts this program: by its name where that finds it, else by its path.
pub(crate) fn own_command() -> String {
    let Ok(own) = env::current_exe().and_then(|path| path.canonicalize()) else { return NAME.to_owned() };
    let is_own = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == own);
    if find(Path::new(NAME), Path::new(".")).is_some_and(|found| is_own(&found)) {
        return NAME.to_owned();
    }
    // The path by which it was started is often the shorter one: `target/release/opentool`.
    let started = env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1 && is_own(path));
    let path = started.unwrap_or(own);
    path.to_str().and_then(quoted).map_or(NAME.to_owned(), |path| path.into_owned())
}
