//! Headers that a pattern names, and folders that have a header.

use std::path::{Path, PathBuf};

use crate::error::DescribeError;
use crate::glob::Glob;
use crate::options::Options;

/// How deep folders are searched for a header that is missing, and how many folders are looked at.
const DEEPEST: usize = 3;
const MOST_FOLDERS: usize = 4000;
/// How many folders a message names.
const SHOWN: usize = 3;

/// The headers that were given, with the files that match in the place of every pattern.
pub(crate) fn expanded(options: &Options) -> Result<Vec<PathBuf>, DescribeError> {
    let mut headers = Vec::new();
    for header in &options.headers {
        let text = header.to_string_lossy();
        if !text.contains(['*', '?']) || header.exists() {
            headers.push(header.clone());
            continue;
        }
        let mut roots = vec![PathBuf::new()];
        if header.is_relative() {
            roots.extend(options.includes.iter().cloned());
            roots.push(PathBuf::from("/usr/include"));
            roots.push(PathBuf::from("/usr/local/include"));
        }
        let found = roots.iter().map(|root| matching(root, &text)).find(|found| !found.is_empty());
        headers.extend(found.ok_or_else(|| DescribeError::NoSuchHeaders { pattern: text.into_owned() })?);
    }
    Ok(headers)
}

/// The files below a folder whose paths match, sorted; a pattern stands for one part of a path.
fn matching(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![if pattern.starts_with('/') { PathBuf::from("/") } else { root.to_owned() }];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in found {
            if !part.contains(['*', '?']) {
                next.push(folder.join(part));
                continue;
            }
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
            let glob = Glob::new(part.to_owned());
            let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            next.extend(names.filter(|name| glob.matches(name)).map(|name| folder.join(name)));
        }
        next.retain(|path| path.exists());
        next.sort();
        found = next;
    }
    found.retain(|path| path.is_file());
    found
}

/// The folders that have the header that a compiler says is missing: what `-I` should name.
pub(crate) fn folders_of(said: &str, given: &[PathBuf]) -> Vec<PathBuf> {
    let missing = said.lines().find_map(|line| {
        let (before, _) =
            line.split_once(": No such file or directory").or_else(|| line.split_once("' file not found"))?;
        Some(before.rsplit([' ', '\'']).next()?.to_owned())
    });
    let Some(missing) = missing.filter(|missing| !missing.is_empty() && !missing.starts_with('/')) else {
        return Vec::new();
    };
    let mut roots: Vec<PathBuf> = Vec::new();
    for header in given.iter().filter(|header| header.is_absolute()) {
        roots.extend(
            header.ancestors().skip(1).take(3).filter(|root| root.components().count() > 2).map(Path::to_owned),
        );
    }
    roots.push(PathBuf::from("/usr/include"));
    let mut found = Vec::new();
    let mut budget = MOST_FOLDERS;
    for root in roots {
        search(&root, &missing, 0, &mut budget, &mut found);
        if !found.is_empty() {
            break;
        }
    }
    found.sort_by_key(|folder| folder.components().count());
    found.truncate(SHOWN);
    found
}

fn search(folder: &Path, header: &str, depth: usize, budget: &mut usize, found: &mut Vec<PathBuf>) {
    if *budget == 0 || found.len() >= SHOWN {
        return;
    }
    *budget -= 1;
    if folder.join(header).is_file() {
        found.push(folder.to_owned());
        return;
    }
    if depth == DEEPEST {
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        search(&folder, header, depth + 1, budget, found);
    }
}
