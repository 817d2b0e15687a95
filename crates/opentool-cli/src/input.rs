//! Where documents come from: files, folders, standard input.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use walkdir::{DirEntry, WalkDir};

use crate::failure::Failure;

/// Something to read, as the user named it.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    StandardInput,
    Path(PathBuf),
}

impl From<&PathBuf> for Input {
    fn from(path: &PathBuf) -> Self {
        if path.as_os_str() == "-" { Input::StandardInput } else { Input::Path(path.clone()) }
    }
}

impl Input {
    /// The name that stands in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Input::StandardInput => "<stdin>".to_owned(),
            // `./a.json` and `a.json` are one file, and other tools know it by the shorter name.
            Input::Path(path) => {
                let short = path.strip_prefix(".").ok().filter(|short| !short.as_os_str().is_empty());
                short.unwrap_or(path).to_string_lossy().into_owned()
            }
        }
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let bytes = match self {
            Input::StandardInput => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            Input::Path(path) if path.is_dir() => return Err(Failure::Folder { name: self.name() }),
            Input::Path(path) => fs::read(path),
        };
        bytes.map_err(|source| Failure::Read { name: self.name(), source })
    }

    /// Reads a text, for commands that have no use for other files.
    pub(crate) fn read_text(&self) -> Result<String, Failure> {
        String::from_utf8(self.read()?)
            .map_err(|error| Failure::NotText { name: self.name(), at: error.utf8_error().valid_up_to() })
    }
}

/// The JSON files of a folder, by name, without what is hidden and what tools put there.
pub(crate) fn walk(folder: &Path) -> impl Iterator<Item = Result<Input, Failure>> {
    let wanted = |entry: &DirEntry| entry.depth() == 0 || !is_skipped(entry);
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(wanted);
    entries.filter_map(|entry| match entry {
        Ok(entry) => {
            let is_json = entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
            // `is_file` follows a link to a file; links to folders are not followed, so there are no cycles.
            (is_json && entry.path().is_file()).then(|| Ok(Input::Path(entry.into_path())))
        }
        Err(error) => {
            let name = error.path().unwrap_or(Path::new("a folder")).to_string_lossy().into_owned();
            Some(Err(Failure::Read { name, source: error.into() }))
        }
    })
}

fn is_skipped(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    name.starts_with('.') || (entry.file_type().is_dir() && matches!(&*name, "target" | "node_modules"))
}

/// Whether a JSON file that was found, not named, is a document or is meant to be one.
pub(crate) fn looks_like_a_document(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.split('.').any(|part| matches!(part, "opentool" | "opendyn" | "openworkflow")) {
        return true;
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    match Keys::read(text) {
        Ok(keys) => keys.version || (keys.info && keys.functions),
        // Broken, too deep or not an object: all there is to go by is what it mentions.
        Err(_) => {
            !is_json(text) && ["\"opentool\"", "\"opendyn\"", "\"openworkflow\""].iter().any(|key| text.contains(key))
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Which keys an object has at its root.
#[derive(Default)]
struct Keys {
    version: bool,
    info: bool,
    functions: bool,
}

impl Keys {
    fn read(text: &str) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let keys = deserializer.deserialize_map(KeysVisitor)?;
        deserializer.end()?;
        Ok(keys)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Keys::default();
        while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            match key.as_str() {
                "opentool" | "opendyn" | "openworkflow" => keys.version = true,
                "info" => keys.info = true,
                "functions" => keys.functions = true,
                _ => {}
            }
        }
        Ok(keys)
    }
}
