//! `opentool dyn symbols`: what a library exports.

use std::fmt::Write as _;

use clap::Args;
use opentool_dyn::{Export, ExportKind, Exports};
use serde_json::{Value, json};

use crate::{
    exit_status::ExitStatus,
    exports,
    failure::Failure,
    report::counted,
    terminal::{visible, visible_json, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool dyn symbols libm.so.6               A library that the system finds
  opentool dyn symbols ./libvendor.so          … or a file
  opentool dyn symbols libz.so.1 --json | jq -r '.symbols[] | select(.kind == \"function\") | .name'

The library is read, never loaded: none of its code runs. ELF, Mach-O and PE are understood, of any architecture.

With --json, there is one object {path, format, architecture, loadable, needed, symbols}, and each of the symbols is {name, \
kind, version, default, declaration}; `default` says whether a look-up by name finds that one, and `declaration` is what a \
mangled C++ name stands for.

Exit codes: 0 listed; 2 wrong usage, or no library.";

/// List what a library exports, without loading it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Symbols {
    /// A library: a path, or a name that the system's loader finds
    #[arg(value_name = "LIB")]
    library: String,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Symbols {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let exports = exports::read(&self.library)?;
        if self.json {
            let mut text =
                serde_json::to_string_pretty(&as_json(&exports)).map_err(|error| Failure::output(error.into()))?;
            text.push('\n');
            write_data(&visible_json(&text)).map_err(Failure::output)?;
        } else {
            write_data(&as_text(&exports)).map_err(Failure::output)?;
            if let Err(error) = exports.loadable_here() {
                warn(&format_args!("{}", visible(&error.to_string())));
            }
        }
        Ok(ExitStatus::Success)
    }
}

fn as_json(exports: &Exports) -> Value {
    let symbols: Vec<Value> = exports
        .symbols()
        .iter()
        .map(|export| {
            json!({
                "name": export.name(),
                "kind": export.kind().to_string(),
                "version": export.version(),
                "default": export.is_default(),
                "declaration": export.demangled(),
            })
        })
        .collect();
    json!({
        "path": exports.path().to_string_lossy(),
        "format": exports.format().to_string(),
        "architecture": exports.architecture(),
        "loadable": exports.loadable_here().is_ok(),
        "needed": exports.needed(),
        "symbols": symbols,
    })
}

fn as_text(exports: &Exports) -> String {
    let path = exports.path().to_string_lossy();
    let mut text = format!("{}: {}, {}", visible(&path), exports.format(), exports.architecture());
    if !exports.needed().is_empty() {
        let _ = write!(text, "; needs {}", visible(&exports.needed().join(", ")));
    }
    let symbols = exports.symbols();
    let callable = symbols.iter().filter(|export| export.kind().is_callable() && export.is_default()).count();
    let _ = writeln!(text, "\n{}, {}", counted(symbols.len(), "symbol"), counted(callable, "function"));
    let width =
        symbols.iter().map(|export| export.name().chars().count()).filter(|width| *width <= 40).max().unwrap_or(0);
    for export in symbols {
        let line = format!("  {:width$}  {}", visible(export.name()), details(export));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Kind, version, and what a C++ name stands for.
fn details(export: &Export) -> String {
    let mut text = match export.kind() {
        ExportKind::Forwarded { library, symbol } => format!("forwarded to {} {}", visible(library), visible(symbol)),
        kind => kind.to_string(),
    };
    if let Some(version) = export.version() {
        let _ = write!(text, ", {}{}", visible(version), if export.is_default() { "" } else { " (older)" });
    }
    if let Some(declaration) = export.demangled() {
        let _ = write!(text, ", C++ `{}`", visible(&declaration));
    }
    text
}
