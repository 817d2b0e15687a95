//! The sources of a configuration file by their names: [`NamedSources`].

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
    sync::Arc,
};

use opentool_spec::json::near;

use super::{
    reader::{is_table_name, read},
    table::{SourceTable, TablePlace},
};
use crate::{config_fault::Faults, config_file::ConfigFile, config_value::parse, failure::Failure};

/// The sources that a configuration file describes. The file is read when a word is looked up that could name one.
#[derive(Debug)]
pub(crate) struct NamedSources {
    /// The command that looks them up.
    command: &'static str,
    config: Option<PathBuf>,
    loaded: OnceCell<Option<LoadedTables>>,
}

#[derive(Debug)]
struct LoadedTables {
    file: Arc<ConfigFile>,
    tables: Vec<SourceTable>,
}

impl NamedSources {
    /// Those of the file that the user named, otherwise of that in this folder.
    pub(crate) fn new(config: Option<&Path>, command: &'static str) -> Self {
        NamedSources { command, config: config.map(Path::to_owned), loaded: OnceCell::new() }
    }

    /// Those of a file that was read already.
    pub(crate) fn from_tables(file: ConfigFile, tables: Vec<SourceTable>, command: &'static str) -> Self {
        let file = Arc::new(file);
        NamedSources { command, config: None, loaded: OnceCell::from(Some(LoadedTables { file, tables })) }
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        NamedSources { command: "", config: None, loaded: OnceCell::from(None) }
    }

    fn loaded(&self) -> Result<Option<&LoadedTables>, Failure> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded.as_ref());
        }
        let loaded = match ConfigFile::given_or_found(self.config.as_deref())? {
            Some(file) => Some(LoadedTables { tables: read_tables(&file)?, file: Arc::new(file) }),
            None => None,
        };
        Ok(self.loaded.get_or_init(|| loaded).as_ref())
    }

    /// The tables, in the order of the file.
    pub(crate) fn tables(&self) -> Result<&[SourceTable], Failure> {
        Ok(self.loaded()?.map_or(&[][..], |loaded| &loaded.tables))
    }

    /// Whether a word names a source of the file.
    pub(crate) fn contains(&self, word: &str) -> Result<bool, Failure> {
        Ok(is_table_name(word) && self.tables()?.iter().any(|table| table.name == word))
    }

    /// The source of a name, if there is one; it fails where the file is not trusted.
    pub(crate) fn find(&self, word: &str) -> Result<Option<&SourceTable>, Failure> {
        Ok(self.find_with_file(word)?.map(|(table, _)| table))
    }

    /// The same, with its place in the file.
    pub(crate) fn find_with_place(&self, word: &str) -> Result<Option<(&SourceTable, TablePlace)>, Failure> {
        let found = self.find_with_file(word)?;
        Ok(found.map(|(table, file)| {
            let (file, name, places) = (Arc::clone(file), table.name.clone(), table.places.clone());
            (table, TablePlace { file, name, places })
        }))
    }

    fn find_with_file(&self, word: &str) -> Result<Option<(&SourceTable, &Arc<ConfigFile>)>, Failure> {
        if !is_table_name(word) {
            return Ok(None);
        }
        let Some(LoadedTables { file, tables }) = self.loaded()? else { return Ok(None) };
        let Some(table) = tables.iter().find(|table| table.name == word) else { return Ok(None) };
        file.check_trust(table.settings.iter(), self.command)?;
        Ok(Some((table, file)))
    }

    /// The file that has the sources, where there is one.
    pub(crate) fn file(&self) -> Result<Option<&Path>, Failure> {
        Ok(self.loaded()?.map(|loaded| loaded.file.path()))
    }

    /// A source of the file whose name is like a word that names none.
    pub(crate) fn near(&self, word: &str) -> Option<String> {
        let LoadedTables { file, tables } = self.loaded().ok()?.filter(|_| is_table_name(word))?;
        let near = near::names(word, tables.iter().map(|table| table.name.as_str()), 1);
        near.first().map(|name| format!("`{name}` of {}", file.name()))
    }
}

fn read_tables(file: &ConfigFile) -> Result<Vec<SourceTable>, Failure> {
    let mut faults = Faults::default();
    let tables = match faults.take(parse(&file.text)) {
        Some(parsed) => read(parsed.get_ref(), &file.text, file.folder(), &mut faults),
        None => Vec::new(),
    };
    faults.check(&file.name(), &file.text)?;
    Ok(tables)
}
