//! The list of libraries that `ldconfig` keeps for the loader of glibc.

use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The names and files in the cache; those for processors with special abilities come last.
pub(super) fn entries(bytes: &[u8]) -> Vec<(String, PathBuf)> {
    // Old systems have an older list before this one.
    let Some(start) = memchr::memmem::find(bytes, MAGIC) else { return Vec::new() };
    let cache = &bytes[start..];
    let number = |at: usize| {
        let bytes = cache.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_ne_bytes(bytes)).ok()
    };
    let text = |at: usize| {
        let rest = cache.get(at..)?;
        Some(String::from_utf8_lossy(&rest[..memchr::memchr(0, rest)?]).into_owned())
    };
    let mut plain = Vec::new();
    let mut special = Vec::new();
    let count = number(MAGIC.len()).unwrap_or(0).min(cache.len() / ENTRY);
    for at in (0..count).map(|index| HEADER + index * ENTRY) {
        let (Some(name), Some(file)) = (number(at + 4).and_then(text), number(at + 8).and_then(text)) else { continue };
        let able = cache.get(at + 16..at + 24).is_some_and(|hwcap| hwcap.iter().any(|byte| *byte != 0));
        if able { &mut special } else { &mut plain }.push((name, PathBuf::from(file)));
    }
    plain.append(&mut special);
    plain
}
