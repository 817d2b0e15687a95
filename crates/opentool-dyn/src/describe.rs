//! A document written from a library and its headers: [`Describer`].

mod comments;
mod cpp;
mod ctype;
mod declarations;
mod error;
mod functions;
mod glob;
mod lengths;
mod parameters;
mod preprocess;
mod shim;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use opentool_spec::{DynInfo, OpenDyn};

use self::comments::{Comment, Comments};
use self::declarations::{Declarations, Prototype};
pub use self::error::{CppExport, DescribeError};
use self::functions::{Described, Mapper};
use self::glob::Glob;
use self::preprocess::Preprocessed;
use crate::{Export, Exports};

/// Writes documents from libraries and their headers.
///
/// The document has those functions that the library exports and a header declares. What a header does not say is guessed,
/// and every guess is marked by `x-review`, so that somebody looks at it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # #[cfg(target_os = "linux")] {
/// use opentool_dyn::{Describer, Exports, find_library};
///
/// let exports = Exports::read(find_library("libm.so.6")?)?;
/// let described = Describer::new().header("math.h").only("cos").only("frexp").describe(&exports)?;
/// assert_eq!(described.document.functions[0].description, "Cosine of X.");
/// let guess = "`int *exponent` is taken as output: say `\"isIn\": true` where it is read";
/// assert_eq!(described.reviews[0].to_string(), format!("frexp, `exponent`: {guess}"));
/// # } Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Describer {
    headers: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    defines: Vec<String>,
    only: Vec<Glob>,
    compiler: Option<OsString>,
}

/// A document, and what somebody should know about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The document.
    pub document: OpenDyn,
    /// What was guessed.
    pub reviews: Vec<Review>,
    /// What is not in the document.
    pub skipped: Vec<Skipped>,
    /// The functions that no comment describes, whose description is their prototype.
    pub uncommented: Vec<String>,
}

/// A guess that somebody should look at; the document has it as `x-review`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Review {
    /// The function.
    pub function: String,
    /// The parameter or return value, or nothing where it is about the whole function.
    pub value: Option<String>,
    /// What was guessed, and what else it could be.
    pub reason: String,
}

impl std::fmt::Display for Review {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}, `{value}`: {}", self.function, self.reason),
            None => write!(f, "{}: {}", self.function, self.reason),
        }
    }
}

/// A function that is not in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The function, as C++ declares it where it is of C++.
    pub function: String,
    /// Why.
    pub reason: String,
    /// A small function in C that would make a tool of it.
    pub shim: Option<String>,
}

impl Describer {
    /// Starts without a header.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a header: a file, or a name that the C compiler finds.
    #[must_use]
    pub fn header(mut self, header: impl Into<PathBuf>) -> Self {
        self.headers.push(header.into());
        self
    }

    /// Adds a folder in which the C compiler looks for headers.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Defines a macro, as `NAME` or `NAME=VALUE`.
    #[must_use]
    pub fn define(mut self, define: impl Into<String>) -> Self {
        self.defines.push(define.into());
        self
    }

    /// Describes only functions whose names match a pattern, in which `*` stands for anything and `?` for one character.
    ///
    /// Several patterns add up.
    #[must_use]
    pub fn only(mut self, pattern: impl Into<String>) -> Self {
        self.only.push(Glob::new(pattern.into()));
        self
    }

    /// Names the C compiler, instead of the one in the environment variable `CC`, or `cc`.
    #[must_use]
    pub fn compiler(mut self, compiler: impl Into<OsString>) -> Self {
        self.compiler = Some(compiler.into());
        self
    }

    /// Describes a library.
    ///
    /// # Errors
    ///
    /// Where the headers cannot be read, or are of C++. What is wrong with one function only keeps that out of the document.
    pub fn describe(&self, exports: &Exports) -> Result<Description, DescribeError> {
        let mangled = || exports.symbols().iter().filter_map(|export| self.cpp_export(export)).collect::<Vec<_>>();
        let source = self.preprocess().map_err(|error| error.with_exports(mangled))?;
        if let Some(sign) = cpp::find(&source) {
            return Err(DescribeError::cpp(sign).with_exports(mangled));
        }
        let declarations = Declarations::read(&source.text).map_err(|error| DescribeError::syntax(&source, &error))?;
        Ok(Work::new(self, exports, &source, &declarations).description())
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|glob| glob.matches(name))
    }

    fn cpp_export(&self, export: &Export) -> Option<CppExport> {
        let callable = export.is_default() && export.kind().is_callable();
        let declaration = callable.then(|| export.demangled()).flatten()?;
        Some(CppExport { symbol: export.name().to_owned(), shim: shim::of_cpp(&declaration), declaration })
    }
}

/// A description under way.
struct Work<'w> {
    describer: &'w Describer,
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

impl<'w> Work<'w> {
    fn new(
        describer: &'w Describer,
        exports: &'w Exports,
        source: &'w Preprocessed,
        declarations: &'w Declarations,
    ) -> Self {
        let mut seen = HashSet::new();
        let prototypes = declarations.prototypes.iter().filter(|prototype| {
            let wanted = || source.place(prototype.span.start).is_some_and(|place| place.wanted);
            !prototype.is_local && describer.wants(&prototype.name) && wanted() && seen.insert(prototype.name.as_str())
        });
        Self { describer, exports, source, declarations, prototypes: prototypes.collect(), skipped: Vec::new() }
    }

    fn description(mut self) -> Description {
        let (exported, missing): (Vec<&Prototype>, Vec<&Prototype>) =
            self.prototypes.iter().copied().partition(|prototype| self.is_exported(&prototype.symbol));
        let signatures: Vec<_> = exported.iter().map(|prototype| &prototype.signature).collect();
        let mapper = Mapper::new(self.declarations, &signatures);
        let mut candidates = Vec::new();
        let mut comments = Comments::default();
        for prototype in exported {
            // Whoever wants one of those says so.
            if prototype.name.starts_with("__") && !self.describer.only.iter().any(Glob::is_reserved) {
                self.skip_plainly(
                    &prototype.name,
                    "has a name that is reserved for the system: ask for it with `--only`",
                );
                continue;
            }
            let comment = self.comment(&mut comments, prototype);
            match mapper.function(&prototype.name, &prototype.signature, comment.as_ref()) {
                Ok(described) => {
                    let has_comment = comment.is_some_and(|comment| !comment.text.is_empty());
                    candidates.push(Candidate { prototype, described, has_comment });
                }
                Err(reason) => self.skip(prototype, reason),
            }
        }
        self.drop_those_without_handles(&mapper, &mut candidates);
        for prototype in missing.into_iter().filter(|prototype| !prototype.name.starts_with("__")) {
            self.skip_missing(prototype);
        }
        self.skip_undeclared();
        let stem = self.exports.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let title = stem.split(".so").next().unwrap_or(&stem).trim_end_matches(".dylib").trim_end_matches(".dll");
        let mut info = DynInfo::new(title, "1.0.0");
        let headers =
            self.describer.headers.iter().filter_map(|header| header.file_name()).map(|name| name.to_string_lossy());
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
        let shim = shim::of(&prototype.name, &prototype.signature, &self.declarations.records);
        self.skipped.push(Skipped { function: prototype.name.clone(), reason, shim });
    }

    fn skip_plainly(&mut self, name: &str, reason: impl Into<String>) {
        self.skipped.push(Skipped { function: name.to_owned(), reason: reason.into(), shim: None });
    }

    /// Leaves out what takes a handle that no function of the document hands out, until nothing more has to go.
    fn drop_those_without_handles(&mut self, mapper: &Mapper<'_>, candidates: &mut Vec<Candidate<'w>>) {
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
                let reason = format!(
                    "takes a `{} *`, which no function that can be described hands out",
                    mapper.handle_name(&key)
                );
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
        let as_cpp = near.iter().filter_map(|name| self.describer.cpp_export(self.exports.get(name)?)).next();
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
        let elsewhere: HashMap<&str, &Prototype> =
            self.declarations.prototypes.iter().rev().map(|prototype| (prototype.symbol.as_str(), prototype)).collect();
        for export in self.exports.symbols() {
            let name = export.name();
            if !export.is_default()
                || !export.kind().is_callable()
                || declared.contains(name)
                || !self.describer.wants(name)
            {
                continue;
            }
            if let Some(cpp) = self.describer.cpp_export(export) {
                let reason = format!("is C++ (`{name}`): export it as `extern \"C\"`");
                self.skipped.push(Skipped { function: cpp.declaration, reason, shim: cpp.shim });
            } else if self.is_left_out(name) {
                self.skip_plainly(name, "is declared in a way that is not understood");
            } else if let Some(place) = elsewhere.get(name).and_then(|other| self.source.place(other.span.start)) {
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
