//! `opentool dyn describe`, `opentool dyn symbols` and `opentool check --library`.

use std::{fs, path::PathBuf};

use super::*;

const HEADER: &str = "\
/* Adds two numbers. */
int add(int a, int b);
/* Halves a number. */
void half(double x, double *result);
int log_line(const char *format, ...);
";

/// A folder with a vendor's library and header.
fn vendor() -> TestFolder {
    let folder = TestFolder::with("vendor.h", HEADER);
    let source = "#include \"vendor.h\"\nint add(int a, int b) { return a + b; }\n\
                  void half(double x, double *result) { *result = x / 2; }\n\
                  int log_line(const char *format, ...) { return 0; }\nint limit = 3;\n";
    compile(&folder, "libvendor.so", source);
    folder
}

fn compile(folder: &TestFolder, library: &str, source: &str) -> PathBuf {
    let source = folder.put("source.c", source);
    let library = folder.path(library);
    let mut compiler = std::process::Command::new("cc");
    let compiled = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    library
}

#[test]
fn a_library_and_its_header_become_a_document_that_passes_the_check() {
    let folder = vendor();
    let ran = folder.run(&["dyn", "describe", "./libvendor.so", "--header", "vendor.h", "-o", "vendor.opendyn.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(
        ran.stderr,
        "to review, marked by `x-review`:\n  \
           half, `result`: `double *result` is taken as output: say `\"isIn\": true` where it is read\n\
         skipped:\n  \
           log_line: takes any number of arguments (`...`)\n    \
             a shim would help: int log_line_tool(const char *format, const char *text) { return log_line(format, text); }\n\
         2 functions of ./libvendor.so described; 1 mark to review; 1 skipped; written to vendor.opendyn.json\n"
    );
    let ran = folder.run(&["check", "vendor.opendyn.json", "--library", "./libvendor.so"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.starts_with("warning[OT083]: to review: `double *result` is taken as output"), "{}", ran.stdout);
    assert_eq!(folder.run(&["check", "--strict", "vendor.opendyn.json"]).code, Some(1));
    let document = json(&folder.read("vendor.opendyn.json"));
    assert_eq!(document["functions"][0]["description"], "Adds two numbers.");
}

#[test]
fn without_an_output_the_document_goes_to_standard_output() {
    let folder = vendor();
    let ran = folder.run(&["dyn", "describe", "libvendor.so", "--header", "vendor.h", "--only", "a*"]);
    assert_eq!(ran.code, Some(0));
    let document = json(&ran.stdout);
    assert_eq!(document["info"]["title"], "libvendor");
    assert_eq!(document["functions"].as_array().unwrap().len(), 1);
    assert_eq!(ran.stderr, "1 function of libvendor.so described; 0 marks to review; 0 skipped\n");
}

#[test]
fn library_that_cannot_be_described_exits_with_1() {
    let folder = vendor();
    let arguments = ["dyn", "describe", "./libvendor.so", "--header", "vendor.h", "--only", "log*", "-o", "out.json"];
    let ran = folder.run(&arguments);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("log_line: takes any number of arguments"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("error: no function of ./libvendor.so can be described: nothing written\n"));
    assert!(!folder.path("out.json").exists());
}

#[test]
fn headers_that_were_not_given_are_named_and_help() {
    let folder = vendor();
    let inner = folder.path("inner");
    fs::create_dir(&inner).unwrap();
    fs::rename(folder.path("vendor.h"), inner.join("vendor.h")).unwrap();
    fs::create_dir(folder.path("outer")).unwrap();
    fs::write(folder.path("outer/all.h"), "#include <vendor.h>\n").unwrap();
    let arguments = ["dyn", "describe", "./libvendor.so", "--header", "outer/all.h", "-I", "inner", "-o", "out.json"];
    let ran = folder.run(&arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let step = ran.stderr.lines().last().unwrap();
    let options = step.strip_prefix("try: give the headers that declare its functions too: ").unwrap();
    let options: Vec<_> = options.split(' ').collect();
    assert_eq!(options, ["--header", "inner/vendor.h"]);
    let ran = folder.run(&[&arguments[..], &options].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(folder.path("out.json").exists());
}

#[test]
fn a_cpp_header_and_library_get_advice() {
    let folder = TestFolder::with("shapes.hpp", "namespace shapes { double area(double width, double height); }\n");
    compile(&folder, "libshapes.so", "double _ZN6shapes4areaEdd(double w, double h) { return w * h; }");
    let ran = folder.run(&["dyn", "describe", "./libshapes.so", "--header", "shapes.hpp"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for message in [
        "shapes.hpp:1: this needs a C++ compiler",
        "export those that you want as `extern \"C\"`",
        "  shapes::area(double, double)\n",
        "for example: extern \"C\" auto area_tool(double arg1, double arg2) { return shapes::area(arg1, arg2); }",
    ] {
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
    let ran = folder.run(&["dyn", "symbols", "./libshapes.so"]);
    assert!(ran.stdout.contains("_ZN6shapes4areaEdd  function, C++ `shapes::area(double, double)`"), "{}", ran.stdout);
}

#[test]
fn headers_and_libraries_that_are_not_there_end_with_2() {
    let folder = vendor();
    let stderr_of = |arguments: &[&str]| {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        ran.stderr
    };
    let missing = stderr_of(&["dyn", "describe", "./libvendor.so", "--header", "none.h"]);
    assert!(missing.contains("cannot read the headers") && missing.contains("none.h"), "{missing}");
    assert!(stderr_of(&["dyn", "describe", "./libvendor.so"]).contains("--header <H>"));
    assert_eq!(
        stderr_of(&["dyn", "symbols", "./none.so"]),
        "error: there is no library at `./none.so`\n\
         try: check the path; a name without a `/` is looked up by the system, such as libm.so.6\n"
    );
    let text = stderr_of(&["dyn", "symbols", "./vendor.h"]);
    assert_eq!(text, "error: `./vendor.h` is a text file, not a library; it begins with \"/* Adds two numbers. */\"\n");
    assert!(
        stderr_of(&["check", "--library", "libnone.so.7"]).starts_with("error: there is no library `libnone.so.7`")
    );
}

#[test]
fn symbols_are_listed_for_people_and_for_programs() {
    let folder = vendor();
    let ran = folder.run(&["dyn", "symbols", "./libvendor.so"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("./libvendor.so: ELF, "), "{}", ran.stdout);
    assert!(lines.contains(&"  add       function") && lines.contains(&"  limit     data"), "{}", ran.stdout);
    let listed = json(&folder.run(&["dyn", "symbols", "./libvendor.so", "--json"]).stdout);
    assert_eq!(listed["loadable"], true);
    let symbols = listed["symbols"].as_array().unwrap();
    let half = symbols.iter().find(|symbol| symbol["name"] == "half").unwrap();
    assert_eq!(
        half,
        &serde_json::json!({ "name": "half", "kind": "function", "version": null, "default": true, "declaration": null })
    );
}

#[test]
fn a_function_that_the_library_lacks_is_a_finding_with_its_line() {
    let folder = vendor();
    folder.run(&["dyn", "describe", "./libvendor.so", "--header", "vendor.h", "-o", "vendor.opendyn.json"]);
    let document = folder.read("vendor.opendyn.json");
    folder.put("vendor.opendyn.json", document.replace("\"add\"", "\"ad\"").replace("\"half\"", "\"limit\""));
    let ran = folder.run(&["check", "vendor.opendyn.json", "--library", "./libvendor.so"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("error[OT080]: the library has no function `ad`; the nearest are `add`\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("|               ^^^^ /functions/0/name\n"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("error[OT080]: `limit` is data of the library, not a function: `x-global` reads it\n"),
        "{}",
        ran.stdout
    );
    let found =
        json(&folder.run(&["check", "vendor.opendyn.json", "--library", "./libvendor.so", "--format", "json"]).stdout);
    assert_eq!((&found[0]["code"], &found[0]["pointer"]), (&"OT080".into(), &"/functions/0/name".into()));
    let line = folder.read("vendor.opendyn.json").lines().position(|line| line.contains("\"ad\"")).unwrap() + 1;
    assert_eq!(found[0]["line"], line);
    // By itself, the document is right.
    assert_eq!(folder.run(&["check", "vendor.opendyn.json"]).code, Some(0));
}

#[test]
fn what_only_a_needed_library_defines_is_reported() {
    let folder = TestFolder::new();
    let source = folder.put("user.c", "double root(double x) { extern double cbrt(double); return cbrt(x); }");
    let library = folder.path("libuser.so");
    let mut compiler = std::process::Command::new("cc");
    let compiled = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-lm").status().unwrap();
    assert!(compiled.success());
    let document = include_str!("../../../../examples/libm.opendyn.json");
    folder.put("libm.opendyn.json", document);
    let ran = folder.run(&["check", "libm.opendyn.json", "--library", "./libuser.so"]);
    assert_eq!(ran.code, Some(1));
    let message = "the library does not define `cos`: only libm.so.6 does, which it needs; open that one";
    assert!(ran.stdout.contains(message), "{}", ran.stdout);
}

#[test]
fn a_library_says_nothing_about_a_document_that_is_not_about_one() {
    let folder = vendor();
    folder.put("clock.json", CLEAN);
    let ran = folder.run(&["check", "clock.json", "--library", "./libvendor.so"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("no OpenDyn document was checked, so that --library had no effect"), "{}", ran.stderr);
}

#[test]
fn the_examples_are_true_of_the_libraries_of_the_system() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (example, library) in [("libm", "libm.so.6"), ("zlib", "libz.so.1"), ("sqlite", "libsqlite3.so.0")] {
        let document = examples.join(format!("{example}.opendyn.json"));
        let ran = run(&["check", "--strict", document.to_str().unwrap(), "--library", library]);
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    }
}

#[test]
fn the_example_of_the_diagnostic_gives_that_finding_against_the_library() {
    let page = include_str!("../../../../docs/diagnostics.md");
    let section = page.split("\n## ").find(|section| section.starts_with("OT080")).unwrap();
    let blocks: Vec<_> =
        section.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("json\n").unwrap()).collect();
    let folder = TestFolder::with("wrong.json", blocks[0]);
    folder.put("right.json", blocks[1]);
    let ran = folder.run(&["check", "wrong.json", "--library", "libm.so.6"]);
    assert!(ran.stdout.starts_with("error[OT080]: the library has no function `cosine`"), "{}", ran.stdout);
    assert_eq!(folder.run(&["check", "right.json", "--library", "libm.so.6"]).code, Some(0));
}

#[test]
fn keys_that_do_not_go_together_are_found_without_the_library() {
    let page = include_str!("../../../../docs/diagnostics.md");
    let section = page.split("\n## ").find(|section| section.starts_with("OT082")).unwrap();
    let blocks: Vec<_> =
        section.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("json\n").unwrap()).collect();
    let folder = TestFolder::with("wrong.json", blocks[0]);
    folder.put("right.json", blocks[1]);
    let ran = folder.run(&["check", "wrong.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.starts_with(
            "error[OT082]: `station_name` cannot be called: `x-returnsCode` needs an integer as the return value"
        ),
        "{}",
        ran.stdout
    );
    assert_eq!(folder.run(&["check", "right.json"]).stdout, "ok: 1 document checked, nothing to report\n");
}

#[test]
fn a_library_with_marks_is_served_with_a_warning_that_lists_them() {
    let folder = vendor();
    folder.run(&["dyn", "describe", "./libvendor.so", "--header", "vendor.h", "-o", "vendor.opendyn.json"]);
    let ran = folder.run(&["call", "vendor.opendyn.json", "half", "x=5", "--library", "./libvendor.so"]);
    assert!(
        ran.stderr.starts_with(
            "warning: vendor.opendyn.json: 1 mark is not reviewed (`x-review`), so answers may be wrong:\n  half, `result`: `double *result`"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_package_names_the_library_its_folders_and_macros() {
    if std::process::Command::new("pkg-config").arg("--version").output().is_err() {
        eprintln!("skipped: there is no pkg-config");
        return;
    }
    let folder = vendor();
    folder.put("include/sdk/api.h", "#ifdef VENDOR_API\n/* Adds two numbers. */\nint add(int a, int b);\n#endif\n");
    let place = folder.path("").display().to_string();
    let place = place.trim_end_matches('/');
    folder.put(
        "vendor.pc",
        format!("Name: vendor\nDescription: A vendor\nVersion: 1\nLibs: -L{place} -lvendor\nCflags: -I{place}/include -DVENDOR_API\n"),
    );
    let describe = |arguments: &[&str]| {
        let mut command = folder.command();
        command.env("PKG_CONFIG_PATH", place).args(["dyn", "describe"]).args(arguments);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, document, said) = describe(&["--pkg", "vendor", "--header", "sdk/*.h"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(json(&document)["functions"][0]["name"], "add");
    assert!(said.ends_with("libvendor.so described; 0 marks to review; 2 skipped\n"), "{said}");
    let (code, _, said) = describe(&["--pkg", "no-such-package", "--header", "sdk/api.h"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("`pkg-config no-such-package` failed"), "{said}");
}
