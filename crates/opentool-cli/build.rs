//! Tells the program which commit it was built from, where there is a repository, and which parts it has.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rerun-if-env-changed=OPENTOOL_BUILD_COMMIT");
    // A package has no repository around it, or that of another project: who builds it may say what it was made from.
    let commit = match env::var("OPENTOOL_BUILD_COMMIT") {
        Ok(commit) => Some(commit),
        Err(_) => commit_of_repository(),
    };
    let commit = commit.filter(|commit| !commit.is_empty()).map(|commit| format!("{commit}, ")).unwrap_or_default();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=OPENTOOL_LONG_VERSION={version} ({commit}features {})", parts());
}

/// The short hash of the commit and its date; none where this is no repository of ours, or git is not there.
fn commit_of_repository() -> Option<String> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    // In a vendored copy, the repository around it is another one.
    if Path::new(&git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // The log of HEAD grows with every commit and checkout, and with nothing else. A path that is not there would make every build
    // run this again.
    for name in ["HEAD", "logs/HEAD"] {
        let path = PathBuf::from(git(&root, &["rev-parse", "--path-format=absolute", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&root, &["log", "-1", "--format=%h %cs", "--abbrev=7"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The crates of this project that the program is made of, by what comes after `opentool-` in their names.
fn parts() -> String {
    let manifest = fs::read_to_string("Cargo.toml").unwrap_or_default();
    let (mut parts, mut is_dependency) = (Vec::new(), false);
    for line in manifest.lines() {
        // A published manifest has a table for each dependency, ours has a line.
        if let Some(table) = line.strip_prefix('[') {
            is_dependency = table.starts_with("dependencies]");
            parts.extend(table.strip_prefix("dependencies.").and_then(part));
        } else if is_dependency {
            parts.extend(part(line));
        }
    }
    parts.sort_unstable();
    parts.join(" ")
}

fn part(line: &str) -> Option<&str> {
    let name = line.strip_prefix("opentool-")?;
    name.split(|char: char| !char.is_ascii_alphanumeric() && char != '-').next()
}
