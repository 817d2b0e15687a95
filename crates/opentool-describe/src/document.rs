//! The document of what a library exports and its headers declare: [`DocumentWriter`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use opentool_dyn::{ExportKind, Exports};
use opentool_spec::{DynFunction, DynInfo, DynSchema, OpenDyn};

use crate::comments::{Comment, Comments};
use crate::compiler::Compiler;
use crate::declarations::{Declarations, Prototype};
use crate::description::{Description, Review, Skipped};
use crate::draft::Described;
use crate::families::Families;
use crate::functions::{LibraryFacts, describe_function};
use crate::options::Options;
use crate::preprocess::Preprocessed;
use crate::proof::{proven, sizes};
use crate::records::{Preparers, Records};
use crate::shim::{c_shim, cpp_export};
use crate::structs::schemas;
use crate::words;
use crate::{events, needs, variables};

/// Writes the document, and notes what is not in it.
pub(crate) struct DocumentWriter<'w> {
    options: &'w Options,
    exports: &'w Exports,
    source: &'w Preprocessed,
    declarations: &'w Declarations,
    /// What counts: one declaration of each function that is wanted and not local.
    prototypes: Vec<&'w Prototype>,
    /// The names that programs write for symbols of another name.
    renames: HashMap<&'w str, &'w str>,
    skipped: Vec<Skipped>,
}

/// A function of the document, before it is known whether callers can have what it takes.
struct Candidate<'w> {
    prototype: &'w Prototype,
    described: Described,
    has_comment: bool,
}

impl<'w> DocumentWriter<'w> {
    pub(crate) fn new(
        options: &'w Options,
        exports: &'w Exports,
        source: &'w Preprocessed,
        declarations: &'w Declarations,
    ) -> Self {
        let mut seen = HashSet::new();
        let renames = source.macros.renames();
        let prototypes = declarations.prototypes.iter().filter(|prototype| {
            let wanted = || source.place(prototype.span.start).is_some_and(|place| place.wanted);
            let name = renames.get(prototype.name.as_str()).copied().unwrap_or(&prototype.name);
            let is_asked_for = options.wants(name) || options.wants(&prototype.name);
            !prototype.is_local && is_asked_for && wanted() && seen.insert(prototype.name.as_str())
        });
        let prototypes = prototypes.collect();
        Self { options, exports, source, declarations, prototypes, renames, skipped: Vec::new() }
    }

    pub(crate) fn write(mut self) -> Description {
        let (exported, missing): (Vec<&Prototype>, Vec<&Prototype>) =
            self.prototypes.iter().copied().partition(|prototype| self.is_exported(&prototype.symbol));
        // What a struct is to callers, all functions of the library say, also those that are not wanted.
        let all: Vec<&Prototype> = self
            .declarations
            .prototypes
            .iter()
            .filter(|prototype| !prototype.is_local && self.is_exported(&prototype.symbol))
            .collect();
        let compiler = Compiler::new(self.options);
        let prove = |layouts| proven(&compiler, &self.source.includes, &self.declarations.records, layouts);
        let measure = |keys: &[Rc<str>]| sizes(&compiler, &self.source.includes, &self.declarations.records, keys);
        let mut comments = Comments::default();
        let preparers = self.preparers(&all, &mut comments);
        let records = Records::find(self.declarations, &all, &preparers, prove, measure);
        let (freeing, families) = (freeing(&all), Families::find(&all));
        let source = self.source;
        let facts = LibraryFacts { records: &records, macros: &source.macros, freeing: &freeing, families: &families };
        let mut candidates = self.candidates(&facts, exported, &mut comments);
        self.drop_those_without_handles(&records, &mut candidates);
        events::add(candidates.iter_mut().map(|candidate| &mut candidate.described.function));
        for prototype in missing.into_iter().filter(|prototype| !prototype.name.starts_with("__")) {
            self.skip_missing(prototype);
        }
        self.skip_undeclared();
        let readers = self.variables(&mut comments);
        let mut description = Description {
            document: OpenDyn::new(self.info()),
            reviews: Vec::new(),
            skipped: self.skipped,
            uncommented: Vec::new(),
        };
        let mut structs: BTreeMap<String, DynSchema> = BTreeMap::new();
        for Candidate { prototype, described, has_comment } in candidates {
            let mut function = described.function;
            let name = self.renames.get(prototype.name.as_str()).copied().unwrap_or(&prototype.name);
            let tool = tool_name(name);
            if tool != prototype.symbol {
                function.extra.insert("x-symbol".to_owned(), prototype.symbol.clone().into());
            }
            function.name.clone_from(&tool);
            if !has_comment {
                description.uncommented.push(tool.clone());
            }
            structs.extend(described.structs.iter().flat_map(|key| schemas(&records, key)));
            let reviews = described.reviews.into_iter();
            description.reviews.extend(reviews.map(|(value, reason)| Review { function: tool.clone(), value, reason }));
            description.document.functions.push(function);
        }
        let known: HashSet<String> =
            description.document.functions.iter().map(|function| function.name.clone()).collect();
        description.document.functions.extend(readers.into_iter().filter(|reader| !known.contains(&reader.name)));
        if !structs.is_empty() {
            description.document.schemas = Some(structs.into_iter().collect());
        }
        description
    }

    /// What prepares structs that callers set to zero before.
    fn preparers(&self, functions: &[&Prototype], comments: &mut Comments) -> Preparers {
        let constant = |name: &str| self.declarations.constant_named(name);
        let zeros: HashSet<String> = self.source.macros.all_zero(constant).map(str::to_owned).collect();
        if zeros.is_empty() {
            return Preparers::default();
        }
        let mut initialising = HashSet::new();
        for prototype in functions {
            let comment = self.comment(comments, prototype.span.start, prototype.span.end);
            let says = |comment: &Comment| !comment.is_shared && comment.text.to_lowercase().starts_with("initiali");
            if comment.as_ref().is_some_and(says) {
                initialising.insert(prototype.name.clone());
            }
        }
        Preparers { zeros, functions: initialising }
    }

    fn candidates(
        &mut self,
        facts: &LibraryFacts<'_, '_>,
        exported: Vec<&'w Prototype>,
        comments: &mut Comments,
    ) -> Vec<Candidate<'w>> {
        let mut candidates = Vec::new();
        for prototype in exported {
            let is_renamed = self.renames.contains_key(prototype.name.as_str());
            if prototype.name.starts_with("__") && !is_renamed && !self.options.wants_reserved() {
                self.skip_plainly(
                    &prototype.name,
                    "has a name that is reserved for the system: ask for it with `--only`",
                );
                continue;
            }
            if facts.freeing.contains(&prototype.name) {
                self.skip_plainly(
                    &prototype.name,
                    "frees memory of the library, of which callers never have the address",
                );
                continue;
            }
            let comment = self.comment(comments, prototype.span.start, prototype.span.end);
            match describe_function(facts, &prototype.name, &prototype.signature, comment.as_ref()) {
                Ok(described) => {
                    let has_comment = comment.is_some_and(|comment| !comment.text.is_empty());
                    candidates.push(Candidate { prototype, described, has_comment });
                }
                Err(reason) => self.skip(prototype, reason),
            }
        }
        candidates
    }

    fn info(&self) -> DynInfo {
        let stem = self.exports.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let title = stem.split(".so").next().unwrap_or(&stem).trim_end_matches(".dylib").trim_end_matches(".dll");
        let mut info = DynInfo::new(title, "1.0.0");
        let headers =
            self.options.headers.iter().filter_map(|header| header.file_name()).map(|name| name.to_string_lossy());
        info.description = Some(format!("Functions of {stem}, by {}.", headers.collect::<Vec<_>>().join(", ")));
        info
    }

    /// Functions that read the variables which the library exports and a header declares.
    fn variables(&self, comments: &mut Comments) -> Vec<DynFunction> {
        let mut seen = HashSet::new();
        let is_data =
            |name: &str| self.exports.get(name).is_some_and(|export| matches!(export.kind(), ExportKind::Data));
        let mut readers = Vec::new();
        for variable in &self.declarations.variables {
            let wanted = self.source.place(variable.span.start).is_some_and(|place| place.wanted);
            let name = self.renames.get(variable.name.as_str()).copied().unwrap_or(&variable.name);
            let is_named = wanted && self.options.wants(name) && !name.starts_with("__");
            if !is_named || !is_data(&variable.name) || !seen.insert(variable.name.as_str()) {
                continue;
            }
            let comment = self.comment(comments, variable.span.start, variable.span.end);
            let Some(mut reader) = variables::reader(variable, comment.as_ref()) else { continue };
            let tool = tool_name(name);
            if tool != variable.name {
                reader.extra.insert("x-symbol".to_owned(), variable.name.clone().into());
            }
            reader.name = tool;
            readers.push(reader);
        }
        readers
    }

    fn is_exported(&self, symbol: &str) -> bool {
        self.exports.get(symbol).is_some_and(|export| export.kind().is_callable())
    }

    fn comment(&self, comments: &mut Comments, start: usize, end: usize) -> Option<Comment> {
        let first = self.source.place(start)?;
        let last = self.source.place(end.saturating_sub(1))?;
        let last = if last.file == first.file { last.line } else { first.line };
        comments.about(first.file, first.line, last)
    }

    fn skip(&mut self, prototype: &Prototype, reason: String) {
        let shim = c_shim(&prototype.name, &prototype.signature, &self.declarations.records);
        self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim, header: None });
    }

    fn skip_plainly(&mut self, name: &str, reason: impl Into<String>) {
        self.skipped.push(Skipped { function: name.to_owned(), reason: reason.into(), shim: None, header: None });
    }

    /// Leaves out functions that take a handle which no function of the document returns.
    fn drop_those_without_handles(&mut self, records: &Records<'_>, candidates: &mut Vec<Candidate<'w>>) {
        let missing = needs::settle(candidates.iter_mut().map(|candidate| &mut candidate.described));
        let lost: HashMap<usize, Rc<str>> =
            missing.into_iter().map(|missing| (missing.function, missing.key)).collect();
        let mut index = 0;
        candidates.retain(|candidate| {
            index += 1;
            let Some(key) = lost.get(&(index - 1)) else { return true };
            let reason = format!("takes a `{} *`, which no function that can be described returns", records.name(key));
            self.skipped.push(Skipped { function: candidate.prototype.name.clone(), reason, shim: None, header: None });
            false
        });
    }

    /// A function that is declared, but not exported by that name.
    fn skip_missing(&mut self, prototype: &Prototype) {
        let near = self.exports.nearest(&prototype.name);
        let as_cpp = near.iter().filter_map(|name| cpp_export(self.exports.get(name)?)).next();
        let (reason, shim) = match as_cpp {
            Some(export) => (
                format!("is exported as C++, `{}`: declare it `extern \"C\"` where it is compiled", export.declaration),
                export.shim,
            ),
            None => match self.exports.get(&prototype.symbol) {
                Some(export) => (format!("is {} in the library, not a function", export.kind()), None),
                None => ("is declared, but the library does not export it".to_owned(), None),
            },
        };
        self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim, header: None });
    }

    /// The functions that the library exports and that no header declares.
    fn skip_undeclared(&mut self) {
        let declared: HashSet<&str> = self.prototypes.iter().map(|prototype| prototype.symbol.as_str()).collect();
        let in_other_headers: HashMap<&str, &Prototype> =
            self.declarations.prototypes.iter().rev().map(|prototype| (prototype.symbol.as_str(), prototype)).collect();
        for export in self.exports.symbols() {
            let name = export.name();
            if !export.is_default()
                || !export.kind().is_callable()
                || declared.contains(name)
                || !self.options.wants(name)
            {
                continue;
            }
            if let Some(cpp) = cpp_export(export) {
                let reason = format!("is C++ (`{name}`): export it as `extern \"C\"`");
                self.skipped.push(Skipped { function: cpp.declaration, reason, shim: cpp.shim, header: None });
            } else if self.is_left_out(name) {
                self.skip_plainly(name, "is declared in a way that is not understood");
            } else if let Some(place) = in_other_headers.get(name).and_then(|other| self.source.place(other.span.start))
            {
                let reason = format!("is declared in {}, which was not given", place.file.display());
                self.skipped.push(Skipped {
                    function: name.to_owned(),
                    reason,
                    shim: None,
                    header: Some(place.file.to_path_buf()),
                });
            } else {
                self.skip_plainly(name, "is exported, but no header declares it");
            }
        }
    }

    fn is_left_out(&self, name: &str) -> bool {
        let word = |char: char| char.is_alphanumeric() || char == '_';
        self.declarations.left_out.iter().any(|range| {
            let text = &self.source.text[range.clone()];
            text.match_indices(name)
                .any(|(at, _)| !text[..at].ends_with(word) && !text[at + name.len()..].starts_with(word))
        })
    }
}

/// The name of the tool: at most 64 letters, digits, `_` and `-`.
fn tool_name(name: &str) -> String {
    name.chars()
        .map(|char| if char.is_ascii_alphanumeric() || matches!(char, '_' | '-') { char } else { '_' })
        .take(64)
        .collect()
}

/// The functions that free what they are given, and nothing else: `sqlite3_free`.
fn freeing(functions: &[&Prototype]) -> Vec<String> {
    let frees = |prototype: &&&Prototype| {
        let [(_, only)] = prototype.signature.parameters.as_slice() else { return false };
        let is_memory = only.pointee().is_some_and(|target| target.is_bytes() && !target.is_const);
        is_memory && prototype.signature.returns.is_void() && words::has_any(&prototype.name, &["free"])
    };
    let mut names: Vec<String> = functions.iter().filter(frees).map(|prototype| prototype.name.clone()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.dedup();
    names
}
