//! Where the system keeps a library: [`find_library`].

mod cache;
#[cfg(test)]
mod tests;

use opentool_spec::json::near;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Finds the file of a library that is named by its path, or as the system's loader takes it (`libm.so.6`).
///
/// A name with a separator in it is a path, and returned as it is, whether there is a file or not. Any other name is looked
/// for where the loader of the system would look, and then in the current directory, so that a file there cannot stand in
/// for a library of the system.
///
/// ```
/// # #[cfg(target_os = "linux")]
/// assert!(opentool_dyn::find_library("libm.so.6").unwrap().is_absolute());
/// assert_eq!(opentool_dyn::find_library("./vendor.so").unwrap().to_str(), Some("./vendor.so"));
/// let error = opentool_dyn::find_library("libmm.so.66").unwrap_err();
/// assert!(error.to_string().starts_with("there is no library `libmm.so.66`"));
/// ```
///
/// # Errors
///
/// Where nothing of that name is found, with the libraries whose names come near.
pub fn find_library(name: impl AsRef<Path>) -> Result<PathBuf, FindError> {
    let name = name.as_ref();
    if name.components().count() != 1 || name.is_absolute() || name.as_os_str().to_string_lossy().ends_with('/') {
        return Ok(name.to_owned());
    }
    let search = SearchPath::of_system();
    let mut other = None;
    for candidate in search.candidates(name) {
        if !candidate.is_file() {
            continue;
        }
        if is_for_this_machine(&candidate) {
            return Ok(candidate);
        }
        // A linker script, or of another architecture: reading it reports what is wrong with it.
        other.get_or_insert(candidate);
    }
    let here = Path::new(".").join(name);
    if here.exists() {
        return Ok(here);
    }
    other.ok_or_else(|| FindError { name: name.to_string_lossy().into_owned(), near: search.near(name) })
}

/// There is no library of a name where the system keeps its libraries.
#[derive(Debug, Clone, Error)]
#[error("there is no library `{name}`{}; a path to one has a `/` in it", did_you_mean(.near))]
pub struct FindError {
    name: String,
    near: Vec<String>,
}

impl FindError {
    /// The name that was looked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of libraries that come near.
    #[must_use]
    pub fn near(&self) -> &[String] {
        &self.near
    }
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        [head @ .., last] => format!("; did you mean `{}` or `{last}`?", head.join("`, `")),
    }
}

/// Where the loader of this system looks.
struct SearchPath {
    /// Before the cache.
    first: Vec<PathBuf>,
    /// Names and files that the loader keeps a list of.
    listed: Vec<(String, PathBuf)>,
    /// After the cache.
    last: Vec<PathBuf>,
}

impl SearchPath {
    fn of_system() -> Self {
        let of_variable = |name: &str| match std::env::var_os(name) {
            Some(value) => std::env::split_paths(&value).filter(|path| path.is_absolute()).collect(),
            None => Vec::new(),
        };
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        if cfg!(windows) {
            let system = std::env::var_os("SystemRoot").map(|root| PathBuf::from(root).join("System32"));
            return Self { first: system.into_iter().collect(), listed: Vec::new(), last: of_variable("PATH") };
        }
        if cfg!(target_vendor = "apple") {
            let last = paths(&["/usr/local/lib", "/opt/homebrew/lib", "/usr/lib"]);
            return Self { first: of_variable("DYLD_LIBRARY_PATH"), listed: Vec::new(), last };
        }
        let mut last = Vec::new();
        for root in ["/lib", "/usr/lib"] {
            last.push(PathBuf::from(format!("{root}/{}-linux-gnu", std::env::consts::ARCH)));
            last.push(PathBuf::from(root));
            last.push(PathBuf::from(format!("{root}64")));
        }
        last.push(PathBuf::from("/usr/local/lib"));
        let listed = std::fs::read("/etc/ld.so.cache").map(|bytes| cache::entries(&bytes)).unwrap_or_default();
        Self { first: of_variable("LD_LIBRARY_PATH"), listed, last }
    }

    fn candidates(&self, name: &Path) -> impl Iterator<Item = PathBuf> {
        let listed =
            self.listed.iter().filter(move |(listed, _)| name == Path::new(listed)).map(|(_, path)| path.clone());
        let first = self.first.iter().map(move |place| place.join(name));
        let last = self.last.iter().map(move |place| place.join(name));
        first.chain(listed).chain(last)
    }

    /// The names of libraries that differ only in what comes before and after the stem, or else by a letter or two.
    fn near(&self, name: &Path) -> Vec<String> {
        let name = name.to_string_lossy();
        let wanted = stem(&name);
        let mut names: Vec<String> = self.listed.iter().map(|(name, _)| name.clone()).collect();
        for entry in self.first.iter().chain(&self.last).filter_map(|place| place.read_dir().ok()).flatten().flatten() {
            let entry = entry.file_name().to_string_lossy().into_owned();
            if [".so", ".dylib", ".dll"].iter().any(|extension| entry.contains(extension)) {
                names.push(entry);
            }
        }
        let mut near = near::ranked(wanted, names, |known| stem(known));
        near.sort();
        near.dedup();
        let best = near.first().map(|(distance, _)| *distance);
        near.into_iter().filter(|(distance, _)| Some(*distance) == best).map(|(_, name)| name).take(3).collect()
    }
}

/// `libsqlite3.so.0` → `sqlite3`.
fn stem(name: &str) -> &str {
    let name = name.strip_prefix("lib").unwrap_or(name);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file begins as libraries for this machine do.
fn is_for_this_machine(path: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    // Of an ELF header: magic, class and byte order, and after the kind of file the machine.
    let header = |path: &Path| {
        let mut bytes = [0; 20];
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .ok()
            .map(|()| (bytes[..6].to_vec(), [bytes[18], bytes[19]]))
    };
    match (header(path), header(Path::new("/proc/self/exe"))) {
        (Some(library), Some(program)) => library == program,
        (library, None) => library.is_some(),
        (None, _) => false,
    }
}
