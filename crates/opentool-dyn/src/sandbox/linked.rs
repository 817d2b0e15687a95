//! The files that the loader reads for a library: [`linked_files`].

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::ElfFile;
use object::{Endianness, ReadCache};

use crate::find::find_library;

/// No library links more files; one that claims to does not work.
const MOST: usize = 2048;

/// Where variants for newer processors are, below each folder.
const VARIANTS: [&str; 4] = ["", "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v4"];

#[cfg(target_pointer_width = "64")]
type ElfHeader = object::elf::FileHeader64<Endianness>;
#[cfg(not(target_pointer_width = "64"))]
type ElfHeader = object::elf::FileHeader32<Endianness>;

/// What a library says about others.
#[derive(Debug, Default, PartialEq, Eq)]
struct Links {
    needed: Vec<PathBuf>,
    /// Where they are looked for, also those that they need in turn.
    rpath: Vec<PathBuf>,
    /// Where they are looked for.
    runpath: Vec<PathBuf>,
}

/// The library's file and those that it links, directly and indirectly, as far as they are found.
pub(super) fn linked_files(library: &Path) -> Vec<PathBuf> {
    let named = std::path::absolute(library).unwrap_or_else(|_| library.to_owned());
    let of_variable = std::env::var_os("LD_LIBRARY_PATH");
    let of_variable: Vec<PathBuf> = of_variable.iter().flat_map(std::env::split_paths).collect();
    let (mut files, mut seen) = (Vec::new(), HashSet::from([named.clone()]));
    let mut unread = vec![(named, Vec::new())];
    while let Some((file, inherited)) = unread.pop() {
        let links = read(&file).unwrap_or_default();
        files.push(file);
        let rpath: Vec<PathBuf> = links.rpath.iter().chain(&inherited).cloned().collect();
        let folders: Vec<&PathBuf> = rpath.iter().chain(&of_variable).chain(&links.runpath).collect();
        for name in &links.needed {
            for found in find(name, &folders) {
                if files.len() + unread.len() < MOST && seen.insert(found.clone()) {
                    unread.push((found, rpath.clone()));
                }
            }
        }
    }
    files
}

/// The files that a name may stand for. All of them, because the loader passes over those for other machines.
fn find(name: &Path, folders: &[&PathBuf]) -> Vec<PathBuf> {
    if name.components().count() != 1 {
        return vec![name.to_owned()];
    }
    let in_folders = folders.iter().flat_map(|folder| VARIANTS.map(|variant| folder.join(variant).join(name)));
    let mut found: Vec<PathBuf> = in_folders.filter(|path| path.is_file()).collect();
    found.extend(find_library(name).ok().filter(|path| path.is_absolute()));
    found
}

/// Reads what a library links; none where it is no library of this machine.
fn read(file: &Path) -> Option<Links> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let elf = ElfFile::<ElfHeader, _>::parse(&cache).ok()?;
    let table = elf.elf_dynamic_table().ok()?;
    let mut origins = vec![file.parent()?.to_owned()];
    origins.extend(std::fs::canonicalize(file).ok().and_then(|file| Some(file.parent()?.to_owned())));
    origins.dedup();
    let mut links = Links::default();
    for entry in &table {
        let paths = match entry.tag {
            DT_NEEDED => &mut links.needed,
            DT_RPATH => &mut links.rpath,
            DT_RUNPATH => &mut links.runpath,
            _ => continue,
        };
        let text = table.string(entry).ok()?;
        if entry.tag == DT_NEEDED {
            paths.push(Path::new(OsStr::from_bytes(text)).to_owned());
            continue;
        }
        for folder in text.split(|byte| *byte == b':').filter(|folder| !folder.is_empty()) {
            paths.extend(origins.iter().map(|origin| expanded(folder, origin)));
        }
    }
    Some(links)
}

/// A folder in which `$ORIGIN` stands for where the library is.
fn expanded(folder: &[u8], origin: &Path) -> PathBuf {
    let rest = folder.strip_prefix(b"$ORIGIN").or_else(|| folder.strip_prefix(b"${ORIGIN}"));
    match rest {
        None => Path::new(OsStr::from_bytes(folder)).to_owned(),
        Some(rest) => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            origin.join(OsStr::from_bytes(rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_where_the_library_is() {
        let origin = Path::new("/srv/tools");
        assert_eq!(expanded(b"$ORIGIN/../lib", origin), Path::new("/srv/tools/../lib"));
        assert_eq!(expanded(b"${ORIGIN}", origin), Path::new("/srv/tools/"));
        assert_eq!(expanded(b"/opt/lib", origin), Path::new("/opt/lib"));
    }

    #[test]
    fn what_is_no_library_links_nothing() {
        assert_eq!(read(Path::new("/etc/hostname")), None);
        assert_eq!(linked_files(Path::new("/no/such/library")), [Path::new("/no/such/library")]);
    }
}
