//! Where the values of a configuration file stand: [`FilePlaces`].

use std::{ops::Range, path::Path, sync::Arc};

use clap::{ArgMatches, parser::ValueSource};

use crate::{
    config_fault::ConfigFault,
    config_file::ConfigFile,
    failure::Failure,
    setting::{SOURCES, TOOLS},
    source::Source,
    source_tables::NamedSources,
};

/// The places of the values that stand at the top of a file, for what turns out to be wrong once they are used.
#[derive(Debug, Clone, Default)]
pub(super) struct FilePlaces {
    file: Option<Arc<ConfigFile>>,
    values: Vec<PlacedValue>,
}

/// A value, which may be one of a list.
#[derive(Debug, Clone)]
struct PlacedValue {
    key: String,
    /// The value as an option of the command line has it.
    text: String,
    span: Range<usize>,
}

impl FilePlaces {
    pub(super) fn new(file: &ConfigFile) -> Self {
        FilePlaces { file: Some(Arc::new(file.clone())), values: Vec::new() }
    }

    pub(super) fn add(&mut self, key: &str, text: &str, span: Range<usize>) {
        self.values.push(PlacedValue { key: key.to_owned(), text: text.to_owned(), span });
    }

    /// Leaves out the keys whose option the command line has: its value is the one that is used.
    pub(super) fn without_given(mut self, given: &ArgMatches) -> Self {
        self.values.retain(|value| {
            let id = value.key.replace('-', "_");
            let is_known = given.try_contains_id(&id).unwrap_or(false);
            !is_known || given.value_source(&id) != Some(ValueSource::CommandLine)
        });
        self
    }

    /// A failure that the value of a key caused, at its place; as it is where the file has no such key.
    pub(super) fn locate(&self, key: &str, failure: Failure) -> Failure {
        match self.values.iter().find(|value| value.key == key) {
            Some(value) => self.at(&value.span, failure),
            None => failure,
        }
    }

    /// The same for the value that is a certain file.
    pub(super) fn locate_path(&self, path: &Path, failure: Failure) -> Failure {
        match self.values.iter().find(|value| Path::new(&value.text) == path) {
            Some(value) => self.at(&value.span, failure),
            None => failure,
        }
    }

    /// The failure of a source that the file lists, at its word.
    pub(super) fn locate_source(&self, named: &NamedSources, failure: Failure) -> Failure {
        if matches!(failure, Failure::Config { .. } | Failure::Untrusted { .. }) {
            return failure;
        }
        let listed = self.values.iter().filter(|value| value.key == SOURCES || value.key == TOOLS);
        for value in listed {
            if let Err(failure) = Source::open(&value.text, named) {
                return self.at(&value.span, failure);
            }
        }
        failure
    }

    /// A failure with its place. What it says about options is said about keys here.
    pub(super) fn at(&self, span: &Range<usize>, failure: Failure) -> Failure {
        let Some(file) = &self.file else { return failure };
        let (message, next) = match failure {
            Failure::Config { .. } => return failure,
            // What the command line can do about it is of no use here.
            Failure::Usage { message, .. } => (message, None),
            Failure::Serve { message, next } | Failure::Library { message, next } => (message, next),
            failure => (failure.to_string(), None),
        };
        let fault = ConfigFault::new(span.clone(), message.replace("`--", "`"));
        Failure::Config { message: fault.render(&file.name(), &file.text), next }
    }
}
