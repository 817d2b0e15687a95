//! Prints the module graph of each crate and fails on a cycle: `modules CRATE_DIR…`, all of `crates/*` without arguments.
//!
//! An edge goes from the module that uses a path to the module that defines the item; re-exports are resolved. So does one from
//! an `impl` block that calls a method through `self` or `Self` to the other module whose `impl` block of the same type defines
//! it. Cycles are looked for between modules, and between the subtrees of every folder. Code that needs `cfg(test)` does not
//! count. A type name that a crate defines twice is listed, and fails too unless it is one of [`CONVENTIONAL`].

mod cfg;
mod edges;
mod graph;
mod impls;
mod methods;
mod read;
mod resolve;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use read::{Crate, TypeName};

/// Names that every module may use for its own type.
const CONVENTIONAL: [&str; 4] = ["Error", "Inner", "Builder", "Visitor"];

fn main() -> ExitCode {
    let mut folders: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        folders = match crates_of(Path::new("crates")) {
            Ok(found) => found,
            Err(error) => return fail(&format!("cannot list crates/: {error}")),
        };
    }
    let (mut crates, mut modules, mut faults) = (0, 0, 0);
    for folder in &folders {
        for root in roots(folder) {
            let parsed = match Crate::read(&root) {
                Ok(parsed) => parsed,
                Err(error) => return fail(&error),
            };
            let report = report(&root.display().to_string(), &parsed);
            crates += 1;
            modules += parsed.modules.len();
            faults += report.faults;
            print!("{}", report.text);
        }
    }
    println!("{crates} crates, {modules} modules, {faults} faults");
    if crates == 0 {
        return fail("no crate was found");
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Report {
    text: String,
    faults: usize,
}

/// Writes a crate's graph, its cycles and its repeated type names.
fn report(name: &str, parsed: &Crate) -> Report {
    let edges = edges::edges(parsed);
    let mut text = format!("\n{name}: {} modules\n", parsed.modules.len());
    for (from, targets) in &edges {
        let targets: Vec<String> = targets.iter().map(|to| parsed.name(*to)).collect();
        text.push_str(&format!("  {} -> {}\n", parsed.name(*from), targets.join(", ")));
    }
    let mut faults = 0;
    for cycle in graph::cycles(&edges) {
        faults += 1;
        text.push_str(&format!("CYCLE of modules in {name}:\n"));
        for (from, to) in graph::inner_edges(&edges, &cycle) {
            let via = edges::example(parsed, from, to);
            text.push_str(&format!("    {} -> {}   ({via})\n", parsed.name(from), parsed.name(to)));
        }
    }
    for parent in 0..parsed.modules.len() {
        let folded = graph::fold(parsed, parent, &edges);
        for cycle in graph::cycles(&folded) {
            faults += 1;
            let names: Vec<String> = cycle.iter().map(|module| parsed.name(*module)).collect();
            text.push_str(&format!("CYCLE of subtrees of {} in {name}: {}\n", parsed.name(parent), names.join(", ")));
            for (from, to) in graph::edges_between(parsed, &cycle, &edges) {
                let via = edges::example(parsed, from, to);
                text.push_str(&format!("    {} -> {}   ({via})\n", parsed.name(from), parsed.name(to)));
            }
        }
    }
    for (type_name, places) in repeated(&parsed.types) {
        let places: Vec<String> = places.iter().map(|place| parsed.name(place.module)).collect();
        let places = places.join(", ");
        if CONVENTIONAL.contains(&type_name) {
            text.push_str(&format!("  {type_name} is defined in {places}, as is usual\n"));
        } else {
            faults += 1;
            text.push_str(&format!("REPEATED type name {type_name} in {name}: {places}\n"));
        }
    }
    Report { text, faults }
}

/// The type names that a crate defines more than once; alternatives of which `cfg` takes one are not.
fn repeated(types: &[TypeName]) -> Vec<(&str, Vec<&TypeName>)> {
    let mut by_name: BTreeMap<&str, Vec<&TypeName>> = BTreeMap::new();
    for definition in types {
        let places = by_name.entry(&definition.name).or_default();
        if !places.iter().any(|other| definition.excludes(other)) {
            places.push(definition);
        }
    }
    by_name.into_iter().filter(|(_, places)| places.len() > 1).collect()
}

fn crates_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found.sort();
    Ok(found)
}

/// The files that a crate folder is compiled from: its library, its binary, and further binaries.
fn roots(folder: &Path) -> Vec<PathBuf> {
    let mut roots = vec![folder.join("src/lib.rs"), folder.join("src/main.rs")];
    if let Ok(binaries) = fs::read_dir(folder.join("src/bin")) {
        roots.extend(binaries.filter_map(Result::ok).map(|entry| entry.path()));
    }
    roots.retain(|root| root.is_file());
    roots.sort();
    roots
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
