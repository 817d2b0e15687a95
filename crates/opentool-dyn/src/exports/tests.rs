#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod formats;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;

const SOURCE: &str = r#"
    int answer(void) { return 42; }
    static int two(void) { return 2; }
    static int (*choose(void))(void) { return two; }
    int chosen(void) __attribute__((ifunc("choose")));
    int counter = 7;
    const char greeting[] = "hello";
    __thread int own;
    static int internal(void) { return 1; }
    __attribute__((visibility("hidden"))) int hidden(void) { return internal(); }
    int old_scale(int x) { return x; }
    int new_scale(int x) { return 2 * x; }
    __asm__(".symver old_scale,scale@V1");
    __asm__(".symver new_scale,scale@@V2");
    __asm__(".globl typeless\n.text\ntypeless: ret\n");
    double cosine(double x) { extern double cos(double); return cos(x); }
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn library(&self) -> PathBuf {
        let source = self.file("lib.c", SOURCE);
        let versions = self.file("versions", "V1 { global: *; local: old_scale; new_scale; }; V2 { } V1;");
        let library = self.0.path().join("libtest.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
        compiler.arg(format!("-Wl,--version-script={}", versions.display())).args(["-Wl,--no-as-needed", "-lm"]);
        assert!(compiler.status().unwrap().success());
        library
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_kind_of_symbol_is_recognised() {
    let folder = Folder::new();
    let exports = Exports::read(folder.library()).unwrap();
    let kind = |name: &str| exports.get(name).map(|export| export.kind().clone());
    assert_eq!(kind("answer"), Some(ExportKind::Function));
    assert_eq!(kind("chosen"), Some(ExportKind::Indirect));
    assert_eq!(kind("typeless"), Some(ExportKind::Function));
    assert_eq!(kind("counter"), Some(ExportKind::Data));
    assert_eq!(kind("greeting"), Some(ExportKind::Data));
    assert_eq!(kind("own"), Some(ExportKind::ThreadLocal));
    for absent in ["internal", "hidden", "cos", "V1", "V2", "old_scale"] {
        assert_eq!(kind(absent), None, "{absent}");
    }
    assert_eq!((exports.format(), exports.architecture()), (Format::Elf, std::env::consts::ARCH));
    assert!(exports.needed().contains(&"libm.so.6".to_owned()), "{:?}", exports.needed());
    exports.loadable_here().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_look_up_finds_the_default_of_several_versions() {
    let folder = Folder::new();
    let exports = Exports::read(folder.library()).unwrap();
    assert_eq!(exports.get("scale").unwrap().version(), Some("V2"));
    let all: Vec<_> = exports.symbols().iter().filter(|export| export.name() == "scale").collect();
    assert_eq!(
        all.iter().map(|export| (export.version(), export.is_default())).collect::<Vec<_>>(),
        [(Some("V2"), true), (Some("V1"), false)]
    );
}

#[test]
#[cfg(target_os = "linux")]
fn the_nearest_names_are_of_functions_and_the_best_comes_first() {
    let folder = Folder::new();
    let exports = Exports::read(folder.library()).unwrap();
    assert_eq!(exports.nearest("anwser"), ["answer"]);
    assert_eq!(exports.nearest("scales"), ["scale"]);
    assert_eq!(exports.nearest("vendor_cosine"), ["cosine"]);
    assert!(exports.nearest("countr").is_empty());
    assert!(exports.nearest("").is_empty());
    assert!(exports.nearest(&"x".repeat(100_000)).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_cpp_function_is_demangled_and_near_its_plain_name() {
    let folder = Folder::new();
    let source = folder.file(
        "lib.cpp",
        "int add(int a, int b) { return a + b; } namespace n { double half(double x) { return x / 2; } }",
    );
    let library = folder.0.path().join("libcpp.so");
    // The mangled names without a C++ compiler, which a machine may lack.
    fs::write(&source, "int _Z3addii(int a, int b) { return a + b; } double _ZN1n4halfEd(double x) { return x / 2; }")
        .unwrap();
    assert!(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-x", "c", "-o"])
            .args([&library, &source])
            .status()
            .unwrap()
            .success()
    );
    let exports = Exports::read(library).unwrap();
    assert_eq!(exports.get("_Z3addii").unwrap().demangled().unwrap(), "add(int, int)");
    assert_eq!(exports.get("_ZN1n4halfEd").unwrap().demangled().unwrap(), "n::half(double)");
    assert_eq!(exports.nearest("add"), ["_Z3addii"]);
    assert_eq!(exports.nearest("half"), ["_ZN1n4halfEd"]);
}

#[test]
fn what_is_no_library_is_refused_with_what_it_is() {
    let folder = Folder::new();
    let message = |path: PathBuf| Exports::read(path).unwrap_err().to_string();
    let place = folder.0.path().display().to_string();
    assert_eq!(message(folder.0.path().join("none.so")), format!("there is no library at `{place}/none.so`"));
    assert_eq!(message(folder.0.path().to_owned()), format!("`{place}` is a directory: name the library in it"));
    assert_eq!(message(folder.file("empty.so", "")), format!("`{place}/empty.so` is empty"));
    assert_eq!(
        message(folder.file("text.so", "\nint add(int a, int b);\n")),
        format!("`{place}/text.so` is a text file, not a library; it begins with \"int add(int a, int b);\"")
    );
    assert_eq!(
        message(folder.file("noise.so", [0u8, 1, 2, 3, 255, 254, 0, 0, 9, 9])),
        format!("`{place}/noise.so` is neither ELF nor Mach-O nor PE: it is not a library")
    );
    assert!(
        message(folder.file("static.a", "!<arch>\n/               0           "))
            .contains("is a static archive: make a shared library of it")
    );
    assert!(
        message(folder.file("short.so", b"\x7fELF")).contains("is damaged"),
        "{}",
        message(folder.file("short.so", b"\x7fELF"))
    );
}

#[test]
fn a_linker_script_is_refused_with_the_library_it_names() {
    let folder = Folder::new();
    let script = "/* GNU ld script\n*/\nOUTPUT_FORMAT(elf64-x86-64)\n\
                  GROUP ( /lib/x86_64-linux-gnu/libm.so.6  AS_NEEDED ( /lib/x86_64-linux-gnu/libmvec.so.1 ) )\n";
    let error = Exports::read(folder.file("libm.so", script)).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "libm.so` is a script for the linker, not a library: use one of those that it names, \
             `/lib/x86_64-linux-gnu/libm.so.6`, `/lib/x86_64-linux-gnu/libmvec.so.1`"
        ),
        "{error}"
    );
    let error = Exports::read(folder.file("libn.so", "INPUT(libncurses.so.6 -ltinfo)\n")).unwrap_err().to_string();
    assert!(error.ends_with(": use `libncurses.so.6`, which it names"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_object_file_and_a_program_are_refused_as_what_they_are() {
    let folder = Folder::new();
    let source = folder.file("a.c", "int main(void) { return 0; }");
    let object = folder.0.path().join("a.o");
    let program = folder.0.path().join("a.out");
    assert!(Command::new("cc").args(["-c", "-o"]).args([&object, &source]).status().unwrap().success());
    assert!(Command::new("cc").args(["-no-pie", "-o"]).args([&program, &source]).status().unwrap().success());
    assert!(Exports::read(object).unwrap_err().to_string().contains("is an object file (link it with `cc -shared`)"));
    assert!(Exports::read(program).unwrap_err().to_string().contains("is a program, not a shared library"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_truncated_library_is_refused_at_every_length() {
    let folder = Folder::new();
    let whole = fs::read(folder.library()).unwrap();
    for length in (1..whole.len()).step_by(97).chain([16, 20, 52, 63, 64, 65, whole.len() - 1]) {
        let error = Exports::read(folder.file("cut.so", &whole[..length])).unwrap_err();
        assert!(
            matches!(
                error,
                ExportsError::Truncated { .. } | ExportsError::Malformed { .. } | ExportsError::Text { .. }
            ),
            "{length}: {error}"
        );
        if length > 64 {
            let message = format!("is truncated: its headers describe {} bytes, and it has {length}", whole.len());
            assert!(error.to_string().contains(&message), "{error}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_damaged_library_is_an_error_or_read_but_never_a_crash() {
    let folder = Folder::new();
    let whole = fs::read(folder.library()).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap() % bytes.len();
            bytes[at] = state.to_le_bytes()[2];
        }
        let _ = Exports::read(folder.file("damaged.so", bytes));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_of_another_machine_is_read_but_not_loadable() {
    let folder = Folder::new();
    let mut bytes = fs::read(folder.library()).unwrap();
    let other: u16 = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
    bytes[18..20].copy_from_slice(&other.to_ne_bytes());
    let exports = Exports::read(folder.file("other.so", bytes)).unwrap();
    let error = exports.loadable_here().unwrap_err().to_string();
    let name = if cfg!(target_arch = "aarch64") { "x86_64" } else { "aarch64" };
    assert!(error.contains(&format!("is a library for {name} (ELF), and this program runs on")), "{error}");
}
