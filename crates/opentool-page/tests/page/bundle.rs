//! The bundle in `dist` is made of the sources in `ui`, and small.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hmac_sha256::Hash;

/// How large everything that a browser loads may be, compressed.
const MAX_COMPRESSED: u64 = 150 * 1000;

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists the files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn the_bundle_is_made_of_its_sources() {
    let sources = crate_folder().join("ui");
    let mut paths = Vec::new();
    files(&sources.join("src"), &mut paths);
    paths.extend(["build.mjs", "package.json", "package-lock.json"].map(|name| sources.join(name)));
    let relative = |path: &PathBuf| path.strip_prefix(&sources).unwrap().to_str().unwrap().replace('\\', "/");
    let mut named: Vec<(String, PathBuf)> = paths.iter().map(|path| (relative(path), path.clone())).collect();
    named.sort();
    let mut hash = Hash::new();
    for (name, path) in &named {
        let content = fs::read(path).unwrap();
        hash.update(format!("{name}\0{}\0", content.len()));
        hash.update(content);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").unwrap();
    }
    let bundle = fs::read_to_string(crate_folder().join("dist/app.js")).unwrap();
    let first = bundle.lines().next().unwrap();
    let expected = format!("// opentool-page sources sha256:{text}");
    assert_eq!(first, expected, "dist/app.js is not made of these sources: run `npm run build` in ui");
}

#[test]
fn the_bundle_is_small() {
    let names = ["index.html.gz", "app.js.gz", "app.css.gz", "icon.svg.gz"];
    let size: u64 = names.iter().map(|name| fs::metadata(crate_folder().join("dist").join(name)).unwrap().len()).sum();
    assert!(size <= MAX_COMPRESSED, "{size} bytes");
}
