//! `opentool dyn describe`: a document from a library and its headers.

use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf};

use clap::Args;
use opentool_describe::{Describer, Description, Package, Skipped};

use super::super::json_always::JsonAlways;
use crate::{
    exit_status::ExitStatus,
    exports,
    failure::Failure,
    replace::replace_file,
    report::counted,
    terminal::{advise, complain, note, visible, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool dyn describe libm.so.6 --header math.h -o libm.opendyn.json
  opentool dyn describe libsqlite3.so.0 --header sqlite3.h --only 'sqlite3_*version*'
  opentool dyn describe --pkg libidn2 --header idn2.h -o libidn2.opendyn.json
  opentool dyn describe ./libvendor.so --header 'sdk/*.h' -I sdk/include -D API=2 -o vendor.json

The document has the functions that the library exports and a header declares; comments in the headers become descriptions. \
What a header does not say is guessed, and every guess is marked by `x-review` in the document and listed on standard error, \
together with every function that is not in the document, and why. Read both before you serve it.

The headers are read through the C compiler (`cc`, or what the environment variable CC names); the library is read, never \
loaded.

Standard output, with --json or without: the document.

Exit codes: 0 written; 1 no function can be described; 2 wrong usage, no library, or headers that cannot be read.";

/// Width of the lines in which names are listed.
const WIDTH: usize = 100;

/// Write a document from a library and its headers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Describe {
    /// A library: a path, or a name that the system's loader finds; left out, the one of --pkg
    #[arg(value_name = "LIB", required_unless_present = "packages")]
    library: Option<String>,
    /// A header: a file, or a name that the C compiler finds, with `*` for anything; several add up
    #[arg(long = "header", value_name = "H", required = true)]
    headers: Vec<PathBuf>,
    /// Ask pkg-config for the library, the folders and the macros of this package
    #[arg(long = "pkg", value_name = "NAME")]
    packages: Vec<String>,
    /// Where the C compiler looks for headers
    #[arg(short = 'I', value_name = "DIR")]
    includes: Vec<PathBuf>,
    /// What the C compiler takes as defined: NAME, or NAME=VALUE
    #[arg(short = 'D', value_name = "NAME")]
    defines: Vec<String>,
    /// Only functions whose names match, with `*` for anything and `?` for one character; several add up
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    /// Write the document here; `-` is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    _json: JsonAlways,
}

impl Describe {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let mut describer = Describer::new();
        let mut library = self.library.clone();
        for name in &self.packages {
            let package = Package::find(name).map_err(|error| Failure::library(&error))?;
            library = library.or_else(|| package.library());
            describer = describer.package(&package);
        }
        let library = library.ok_or_else(|| Failure::usage("pkg-config names no library: say which"))?;
        let exports = exports::read(&library)?;
        for header in &self.headers {
            describer = describer.header(header);
        }
        for folder in &self.includes {
            describer = describer.include(folder);
        }
        for define in &self.defines {
            describer = describer.define(define);
        }
        for pattern in &self.only {
            describer = describer.only(pattern);
        }
        let described = describer.describe(&exports).map_err(|error| Failure::library(&error))?;
        let report = report(&described);
        if !report.is_empty() {
            note(&report);
        }
        let name = visible(&library);
        if described.document.functions.is_empty() {
            complain(&format_args!("no function of {name} can be described: nothing written"));
            if let Some(headers) = missing_headers(&described.skipped) {
                advise(&format!("give the headers that declare its functions too: {headers}"));
            }
            return Ok(ExitStatus::Errors);
        }
        let mut text =
            serde_json::to_string_pretty(&described.document).map_err(|error| Failure::output(error.into()))?;
        text.push('\n');
        let counts = format!(
            "{} of {name} described; {} to review; {} skipped",
            counted(described.document.functions.len(), "function"),
            counted(described.reviews.len(), "mark"),
            described.skipped.len()
        );
        if self.output.as_os_str() == "-" {
            write_data(&text).map_err(Failure::output)?;
            note(&counts);
        } else {
            replace_file(&self.output, &text)?;
            let output = self.output.to_string_lossy();
            note(&format_args!("{counts}; written to {output}", output = visible(&output)));
        }
        Ok(ExitStatus::Success)
    }
}

/// What to review, and what is missing.
fn report(described: &Description) -> String {
    let mut text = String::new();
    if !described.reviews.is_empty() {
        text.push_str("to review, marked by `x-review`:\n");
        for review in &described.reviews {
            let _ = writeln!(text, "  {}", visible(&review.to_string()));
        }
    }
    if !described.uncommented.is_empty() {
        text.push_str("without a comment in the headers, so that the prototype is the description:\n");
        list(&mut text, described.uncommented.iter().map(String::as_str));
    }
    if !described.skipped.is_empty() {
        text.push_str("skipped:\n");
    }
    for (reason, those) in by_reason(&described.skipped) {
        match those.as_slice() {
            [only] => {
                let _ = writeln!(text, "  {}: {}", visible(&only.function), visible(reason));
            }
            several => {
                let _ = writeln!(text, "  {} functions: each {}:", several.len(), visible(reason));
                list(&mut text, several.iter().map(|skipped| skipped.function.as_str()));
            }
        }
        for shim in those.iter().filter_map(|skipped| skipped.shim.as_deref()) {
            let _ = writeln!(text, "    a shim would help: {}", visible(shim));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The options for headers that were not given, the first few of them.
fn missing_headers(skipped: &[Skipped]) -> Option<String> {
    const SHOWN: usize = 3;
    let headers: BTreeSet<_> = skipped.iter().filter_map(|skipped| skipped.header.as_deref()).collect();
    let options: Vec<_> = headers.iter().take(SHOWN).map(|header| format!("--header {}", header.display())).collect();
    let more = if headers.len() > SHOWN { " …" } else { "" };
    (!options.is_empty()).then(|| format!("{}{more}", options.join(" ")))
}

/// The skipped functions, those with one reason together, in the order in which the reasons come first.
fn by_reason(skipped: &[Skipped]) -> Vec<(&str, Vec<&Skipped>)> {
    let mut places = std::collections::HashMap::new();
    let mut groups: Vec<(&str, Vec<&Skipped>)> = Vec::new();
    for one in skipped {
        let place = *places.entry(one.reason.as_str()).or_insert_with(|| {
            groups.push((&one.reason, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(one);
    }
    groups
}

/// Writes names with commas between them, in lines of some width.
fn list<'n>(text: &mut String, names: impl Iterator<Item = &'n str>) {
    let mut line = String::new();
    for name in names {
        let name = visible(name);
        if !line.is_empty() && line.len() + name.len() + 2 > WIDTH {
            let _ = writeln!(text, "    {line},");
            line.clear();
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&name);
    }
    if !line.is_empty() {
        let _ = writeln!(text, "    {line}");
    }
}
