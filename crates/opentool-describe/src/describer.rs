//! Where a document starts: [`Describer`].

use std::ffi::OsString;
use std::path::PathBuf;

use opentool_dyn::Exports;

use crate::cpp;
use crate::declarations::Declarations;
use crate::description::Description;
use crate::document::DocumentWriter;
use crate::error::DescribeError;
use crate::glob::Glob;
use crate::options::Options;
use crate::package::Package;
use crate::preprocess::Preprocessed;
use crate::shim::cpp_export;

/// Writes documents from libraries and their headers.
///
/// The document has those functions that the library exports and a header declares. What a header does not say is guessed,
/// and every guess is marked by `x-review`, for a person to check.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # #[cfg(target_os = "linux")] {
/// use opentool_describe::Describer;
/// use opentool_dyn::{Exports, find_library};
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
    options: Options,
}

impl Describer {
    /// Starts without a header.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a header: a file, or a name that the C compiler finds, in which `*` stands for anything and `?` for one character.
    #[must_use]
    pub fn header(mut self, header: impl Into<PathBuf>) -> Self {
        self.options.headers.push(header.into());
        self
    }

    /// Adds a folder in which the C compiler looks for headers.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.includes.push(folder.into());
        self
    }

    /// Defines a macro, as `NAME` or `NAME=VALUE`.
    #[must_use]
    pub fn define(mut self, define: impl Into<String>) -> Self {
        self.options.defines.push(define.into());
        self
    }

    /// Adds what `pkg-config` says about a package to what the C compiler is given.
    #[must_use]
    pub fn package(mut self, package: &Package) -> Self {
        self.options.includes.extend(package.includes.iter().cloned());
        self.options.defines.extend(package.defines.iter().cloned());
        self
    }

    /// Describes only functions whose names match a pattern, in which `*` stands for anything and `?` for one character.
    ///
    /// Several patterns add up.
    #[must_use]
    pub fn only(mut self, pattern: impl Into<String>) -> Self {
        self.options.only.push(Glob::new(pattern.into()));
        self
    }

    /// Names the C compiler, instead of the one in the environment variable `CC`, or `cc`.
    #[must_use]
    pub fn compiler(mut self, compiler: impl Into<OsString>) -> Self {
        self.options.compiler = Some(compiler.into());
        self
    }

    /// Describes a library.
    ///
    /// # Errors
    ///
    /// Where the headers cannot be read, or are of C++. What is wrong with one function only keeps that out of the document.
    pub fn describe(&self, exports: &Exports) -> Result<Description, DescribeError> {
        let mangled = || exports.symbols().iter().filter_map(cpp_export).collect::<Vec<_>>();
        let source = Preprocessed::read(&self.options).map_err(|error| error.with_exports(mangled))?;
        if let Some(sign) = cpp::find(&source) {
            return Err(DescribeError::from(sign).with_exports(mangled));
        }
        let declarations = Declarations::read(&source.text).map_err(|error| syntax_error(&source, &error))?;
        Ok(DocumentWriter::new(&self.options, exports, &source, &declarations).write())
    }
}

fn syntax_error(source: &Preprocessed, error: &lang_c::driver::SyntaxError) -> DescribeError {
    let (place, line) = source.written(error.offset);
    DescribeError::Syntax { place, text: line.trim().chars().take(120).collect() }
}
