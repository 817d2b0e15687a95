#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_name_with_a_separator_is_a_path() {
    assert_eq!(find_library("dir/libx.so").unwrap(), Path::new("dir/libx.so"));
    assert_eq!(find_library("/no/such/libx.so").unwrap(), Path::new("/no/such/libx.so"));
    assert_eq!(find_library("./libx.so").unwrap(), Path::new("./libx.so"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_bare_name_is_found_where_the_loader_finds_it() {
    let found = find_library("libc.so.6").unwrap();
    assert!(found.is_absolute() && found.is_file(), "{found:?}");
    let listed = std::fs::read_to_string("/proc/self/maps").unwrap();
    let loaded = listed.lines().find_map(|line| line.contains("/libc.so.6").then(|| line.rsplit(' ').next())).flatten();
    if let Some(loaded) = loaded {
        assert_eq!(found.canonicalize().unwrap(), Path::new(loaded).canonicalize().unwrap());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_name_that_is_not_there_gets_the_names_that_come_near() {
    let error = find_library("c").unwrap_err();
    assert!(error.near().iter().all(|name| stem(name) == "c"), "{error}");
    assert!(error.near().contains(&"libc.so.6".to_owned()), "{error}");
    assert!(error.to_string().contains("there is no library `c`; did you mean `"), "{error}");
    let error = find_library("libpthreda.so.0").unwrap_err();
    assert!(error.near().contains(&"libpthread.so.0".to_owned()), "{error}");
}

#[test]
fn a_damaged_cache_gives_what_can_be_read() {
    assert!(cache::entries(b"").is_empty());
    assert!(cache::entries(b"glibc-ld.so.cache1.1").is_empty());
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.resize(48, 0);
    for number in [0x303u32, 96, 101, 0, 0, 0, 0x303, 90_000, 101, 0, 0, 0] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(b"liba\0/lib/liba\0");
    assert_eq!(cache::entries(&bytes), [("liba".to_owned(), PathBuf::from("/lib/liba"))]);
}
