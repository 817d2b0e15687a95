//! The document of what a library exports and its headers declare: [`DocumentWriter`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use opentool_dyn::Exports;
use opentool_spec::{DynInfo, OpenDyn};

use crate::comments::{Comment, Comments};
use crate::declarations::{Declarations, Prototype};
use crate::description::{Description, Review, Skipped};
use crate::draft::{Described, Handles};
use crate::functions::describe_function;
use crate::options::Options;
use crate::preprocess::Preprocessed;
use crate::shim::{c_shim, cpp_export};

/// Writes the document, and notes what is not in it.
pub(crate) struct DocumentWriter<'w> {
    options: &'w Options,
    exports: &'w Exports,
    source: &'w Preprocessed,
    declarations: &'w Declarations,
    /// What counts: one declaration of each function that is wanted and not local.
    prototypes: Vec<&'w Prototype>,
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
        let prototypes = declarations.prototypes.iter().filter(|prototype| {
            let wanted = || source.place(prototype.span.start).is_some_and(|place| place.wanted);
            !prototype.is_local && options.wants(&prototype.name) && wanted() && seen.insert(prototype.name.as_str())
        });
        Self { options, exports, source, declarations, prototypes: prototypes.collect(), skipped: Vec::new() }
    }

    pub(crate) fn write(mut self) -> Description {
        let (exported, missing): (Vec<&Prototype>, Vec<&Prototype>) =
            self.prototypes.iter().copied().partition(|prototype| self.is_exported(&prototype.symbol));
        let signatures: Vec<_> = exported.iter().map(|prototype| &prototype.signature).collect();
        let handles = Handles::new(self.declarations, &signatures);
        let mut candidates = Vec::new();
        let mut comments = Comments::default();
        for prototype in exported {
            if prototype.name.starts_with("__") && !self.options.wants_reserved() {
                self.skip_plainly(
                    &prototype.name,
                    "has a name that is reserved for the system: ask for it with `--only`",
                );
                continue;
            }
            let comment = self.comment(&mut comments, prototype);
            match describe_function(&handles, &prototype.name, &prototype.signature, comment.as_ref()) {
                Ok(described) => {
                    let has_comment = comment.is_some_and(|comment| !comment.text.is_empty());
                    candidates.push(Candidate { prototype, described, has_comment });
                }
                Err(reason) => self.skip(prototype, reason),
            }
        }
        self.drop_those_without_handles(&handles, &mut candidates);
        for prototype in missing.into_iter().filter(|prototype| !prototype.name.starts_with("__")) {
            self.skip_missing(prototype);
        }
        self.skip_undeclared();
        let stem = self.exports.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let title = stem.split(".so").next().unwrap_or(&stem).trim_end_matches(".dylib").trim_end_matches(".dll");
        let mut info = DynInfo::new(title, "1.0.0");
        let headers =
            self.options.headers.iter().filter_map(|header| header.file_name()).map(|name| name.to_string_lossy());
        info.description = Some(format!("Functions of {stem}, by {}.", headers.collect::<Vec<_>>().join(", ")));
        let mut description = Description {
            document: OpenDyn::new(info),
            reviews: Vec::new(),
            skipped: self.skipped,
            uncommented: Vec::new(),
        };
        for Candidate { prototype, described, has_comment } in candidates {
            let mut function = described.function;
            let tool = tool_name(&prototype.name);
            if tool != prototype.symbol {
                function.extra.insert("x-symbol".to_owned(), prototype.symbol.clone().into());
            }
            function.name.clone_from(&tool);
            if !has_comment {
                description.uncommented.push(tool.clone());
            }
            let reviews = described.reviews.into_iter();
            description.reviews.extend(reviews.map(|(value, reason)| Review { function: tool.clone(), value, reason }));
            description.document.functions.push(function);
        }
        description
    }

    fn is_exported(&self, symbol: &str) -> bool {
        self.exports.get(symbol).is_some_and(|export| export.kind().is_callable())
    }

    fn comment(&self, comments: &mut Comments, prototype: &Prototype) -> Option<Comment> {
        let first = self.source.place(prototype.span.start)?;
        let last = self.source.place(prototype.span.end.saturating_sub(1))?;
        let last = if last.file == first.file { last.line } else { first.line };
        comments.about(first.file, first.line, last)
    }

    fn skip(&mut self, prototype: &Prototype, reason: String) {
        let shim = c_shim(&prototype.name, &prototype.signature, &self.declarations.records);
        self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim });
    }

    fn skip_plainly(&mut self, name: &str, reason: impl Into<String>) {
        self.skipped.push(Skipped { function: name.to_owned(), reason: reason.into(), shim: None });
    }

    /// Leaves out functions that take a handle which no function of the document returns, until none is left.
    fn drop_those_without_handles(&mut self, handles: &Handles<'_>, candidates: &mut Vec<Candidate<'w>>) {
        loop {
            let made: BTreeSet<Rc<str>> =
                candidates.iter().flat_map(|candidate| candidate.described.makes.iter().cloned()).collect();
            let before = candidates.len();
            let mut lost = Vec::new();
            candidates.retain(|candidate| match candidate.described.takes.iter().find(|key| !made.contains(*key)) {
                Some(key) => {
                    lost.push((candidate.prototype, key.clone()));
                    false
                }
                None => true,
            });
            for (prototype, key) in lost {
                let reason =
                    format!("takes a `{} *`, which no function that can be described returns", handles.name(&key));
                self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim: None });
            }
            if candidates.len() == before {
                return;
            }
        }
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
        self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim });
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
                self.skipped.push(Skipped { function: cpp.declaration, reason, shim: cpp.shim });
            } else if self.is_left_out(name) {
                self.skip_plainly(name, "is declared in a way that is not understood");
            } else if let Some(place) = in_other_headers.get(name).and_then(|other| self.source.place(other.span.start))
            {
                self.skip_plainly(name, format!("is declared in {}, which was not given", place.file.display()));
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
