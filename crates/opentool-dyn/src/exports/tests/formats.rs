//! The formats of other systems, as the smallest files that have exports.

use super::*;

/// Bytes of a file, written at their places.
struct Image(Vec<u8>);

impl Image {
    fn new(length: usize) -> Self {
        Self(vec![0; length])
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn half(&mut self, at: usize, value: u16) {
        self.put(at, &value.to_le_bytes());
    }

    fn words(&mut self, at: usize, values: &[u32]) {
        for (index, value) in values.iter().enumerate() {
            self.put(at + 4 * index, &value.to_le_bytes());
        }
    }

    fn long(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_le_bytes());
    }
}

/// A library for macOS on x86-64 that exports a function and a constant, and needs another library.
fn mach_o() -> Vec<u8> {
    let mut image = Image::new(0x400);
    let (segment, symbols, needs) = (32, 32 + 72 + 160, 32 + 72 + 160 + 24);
    image.words(0, &[0xfeed_facf, 0x0100_0007, 3, 6, 3, 72 + 160 + 24 + 56, 0, 0]);
    image.words(segment, &[0x19, 72 + 160]);
    image.put(segment + 8, b"__TEXT");
    image.long(segment + 32, 0x1000);
    image.long(segment + 48, 0x400);
    image.words(segment + 56, &[5, 5, 2, 0]);
    for (index, (name, address, flags)) in
        [("__text", 0x200, 0x8000_0400), ("__const", 0x240, 0)].into_iter().enumerate()
    {
        let section = segment + 72 + 80 * index;
        image.put(section, name.as_bytes());
        image.put(section + 16, b"__TEXT");
        image.long(section + 32, address);
        image.long(section + 40, 0x40);
        image.words(section + 48, &[u32::try_from(address).unwrap(), 0, 0, 0, flags]);
    }
    image.words(symbols, &[0x2, 24, 0x300, 3, 0x380, 0x40]);
    image.words(needs, &[0xc, 56, 24, 0, 0, 0]);
    image.put(needs + 24, b"/usr/lib/libSystem.B.dylib");
    // A name, exported or not, its section and address.
    for (index, (name, kind, section, address)) in
        [(1, 0x0f, 1, 0x200), (6, 0x0f, 2, 0x240), (13, 0x0e, 1, 0x210)].into_iter().enumerate()
    {
        let symbol = 0x300 + 16 * index;
        image.words(symbol, &[name]);
        image.put(symbol + 4, &[kind, section]);
        image.long(symbol + 8, address);
    }
    image.put(0x380, b"\0_add\0_limit\0_own\0");
    image.0
}

/// A library for Windows on x86-64 that exports a function, a constant and a function of another library.
fn pe() -> Vec<u8> {
    let mut image = Image::new(0x800);
    image.put(0, b"MZ");
    image.words(0x3c, &[0x40]);
    image.put(0x40, b"PE\0\0");
    image.half(0x44, 0x8664);
    image.half(0x46, 2);
    image.half(0x54, 240);
    image.half(0x56, 0x2022);
    let optional = 0x58;
    image.half(optional, 0x20b);
    image.long(optional + 24, 0x1_8000_0000);
    image.words(optional + 32, &[0x1000, 0x200]);
    image.words(optional + 56, &[0x4000, 0x400]);
    image.words(optional + 108, &[16, 0x2000, 0x100]);
    let sections = optional + 240;
    for (index, (name, address, file, flags)) in
        [(".text", 0x1000, 0x400, 0x6000_0020), (".rdata", 0x2000, 0x600, 0x4000_0040)].into_iter().enumerate()
    {
        image.put(sections + 40 * index, name.as_bytes());
        image.words(sections + 40 * index + 8, &[0x200, address, 0x200, file]);
        image.words(sections + 40 * index + 36, &[flags]);
    }
    // The directory of exports, then addresses, names and ordinals.
    image.words(0x600 + 12, &[0x20a0, 1, 3, 3, 0x2028, 0x2034, 0x2040]);
    image.words(0x628, &[0x1000, 0x2180, 0x2080]);
    image.words(0x634, &[0x2060, 0x2064, 0x206a]);
    for (index, ordinal) in [0, 1, 2].into_iter().enumerate() {
        image.half(0x640 + 2 * index, ordinal);
    }
    image.put(0x660, b"add\0limit\0moved\0");
    image.put(0x680, b"OTHER.there\0");
    image.put(0x6a0, b"vendor.dll\0");
    image.0
}

fn kinds(exports: &Exports) -> Vec<(&str, ExportKind)> {
    exports.symbols().iter().map(|export| (export.name(), export.kind().clone())).collect()
}

#[test]
fn a_library_of_macos_is_read_without_its_underscores() {
    let folder = Folder::new();
    let exports = Exports::read(folder.file("libvendor.dylib", mach_o())).unwrap();
    assert_eq!((exports.format(), exports.architecture()), (Format::MachO, "x86_64"));
    assert_eq!(kinds(&exports), [("add", ExportKind::Function), ("limit", ExportKind::Data)]);
    assert_eq!(exports.needed(), ["/usr/lib/libSystem.B.dylib"]);
}

#[test]
fn a_universal_library_is_read_for_one_of_its_machines() {
    let mut image = Image::new(0x1000);
    let native = mach_o();
    // Big-endian, unlike what is in it: one architecture, its place, its length and its alignment.
    for (index, word) in
        [0xcafe_babe_u32, 1, 0x0100_0007, 3, 0x800, u32::try_from(native.len()).unwrap(), 11].into_iter().enumerate()
    {
        image.put(4 * index, &word.to_be_bytes());
    }
    image.put(0x800, &native);
    let exports = Exports::read(Folder::new().file("libvendor.dylib", image.0)).unwrap();
    assert_eq!(kinds(&exports), [("add", ExportKind::Function), ("limit", ExportKind::Data)]);
}

#[test]
fn a_library_of_windows_is_read_with_what_it_forwards() {
    let folder = Folder::new();
    let exports = Exports::read(folder.file("vendor.dll", pe())).unwrap();
    assert_eq!((exports.format(), exports.architecture()), (Format::Pe, "x86_64"));
    let forwarded = ExportKind::Forwarded { library: "OTHER".into(), symbol: "there".into() };
    assert_eq!(kinds(&exports), [("add", ExportKind::Function), ("limit", ExportKind::Data), ("moved", forwarded)]);
    #[cfg(target_os = "linux")]
    assert!(
        exports
            .loadable_here()
            .unwrap_err()
            .to_string()
            .contains("is a library for x86_64 (PE), and this program runs on")
    );
}

#[test]
fn a_truncated_library_of_another_system_is_refused() {
    let folder = Folder::new();
    for (name, whole) in [("libvendor.dylib", mach_o()), ("vendor.dll", pe())] {
        for length in (1..whole.len()).step_by(7) {
            let error = Exports::read(folder.file(name, &whole[..length])).unwrap_err();
            assert!(!error.to_string().is_empty());
        }
    }
}
