//! Headers of every kind: chosen, damaged, of C++, of the system.

use std::collections::HashSet;

use opentool_dyn::find_library;

use super::*;

#[test]
fn patterns_folders_and_macros_choose_what_is_described() {
    let header =
        "#include \"parts/more.h\"\n#include \"outside.h\"\nint one(int x);\n#ifdef EXTRA\nint two(VALUE x);\n#endif\n";
    let vendor = Vendor { folder: tempfile::tempdir().unwrap() };
    fs::create_dir_all(vendor.path("sdk/parts")).unwrap();
    fs::create_dir_all(vendor.path("other")).unwrap();
    vendor.write("sdk/vendor.h", header);
    vendor.write("sdk/parts/more.h", "int three(int x);\n");
    vendor.write("other/outside.h", "int four(int x);\n");
    let source = vendor.write("v.c", "int one(int x) { return x; } int two(int x) { return x; } int three(int x) { return x; } int four(int x) { return x; }");
    let library = vendor.path("libvendor.so");
    assert!(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap().success());
    let names = |describer: Describer| -> Vec<String> {
        let described = describer.describe(&vendor.exports()).unwrap();
        described.document.functions.iter().map(|function| function.name.clone()).collect()
    };
    let describer = || Describer::new().header(vendor.path("sdk/vendor.h")).include(vendor.path("other"));
    assert_eq!(names(describer()), ["three", "one"]);
    assert_eq!(names(describer().define("EXTRA").define("VALUE=int")), ["three", "one", "two"]);
    assert_eq!(names(describer().only("t*")), ["three"]);
    assert_eq!(names(describer().header(vendor.path("other/outside.h"))), ["three", "four", "one"]);
    let described = describer().describe(&vendor.exports()).unwrap();
    let place = vendor.path("other/outside.h");
    let four = skipped(&described, "four");
    assert_eq!(four.reason, format!("is declared in {}, which was not given", place.display()));
    assert_eq!(four.header.as_ref(), Some(&place));
}

#[test]
fn a_declaration_that_is_beyond_the_parser_costs_only_itself() {
    let header = "int before(int x);\nint strange(__int128 x) __attribute__((unused));\nint after(int x);\n";
    let source = "int before(int x) { return x; } int strange(__int128 x) { return 0; } int after(int x) { return x; }";
    let described = Vendor::new(header, source).describe();
    assert_eq!(
        described.document.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>(),
        ["before", "after"]
    );
    assert_eq!(skipped(&described, "strange").reason, "is declared in a way that is not understood");
    let deep = format!("int deep(int x{}{});\nint after(int x);\n", "(".repeat(5000), ")".repeat(5000));
    let vendor = Vendor::new("int after(int x);", "int after(int x) { return x; }");
    vendor.write("deep.h", &deep);
    let described = Describer::new().header(vendor.path("deep.h")).describe(&vendor.exports()).unwrap();
    assert_eq!(described.document.functions.len(), 1);
}

#[test]
fn unreadable_headers_are_refused_with_the_compilers_message() {
    let vendor = Vendor::new("int a(void);", "int a(void) { return 0; }");
    let message = |describer: Describer| describer.describe(&vendor.exports()).unwrap_err().to_string();
    assert_eq!(message(Describer::new()), "no header: an exported name does not say what a function takes");
    let error = message(Describer::new().header(vendor.path("none.h")));
    assert!(error.contains("cannot read the headers") && error.contains("none.h: No such file"), "{error}");
    assert!(message(Describer::new().header(vendor.folder.path())).ends_with("is a directory: name the file in it"));
    let error = message(Describer::new().header(vendor.path("vendor.h")).compiler("no-such-compiler"));
    assert!(error.starts_with("cannot run the C compiler `no-such-compiler`"), "{error}");
    assert!(error.contains("apt-get install gcc"), "{error}");
}

#[test]
fn a_header_that_ends_too_early_is_named_with_its_last_line() {
    let vendor = Vendor::new("int a(void);", "int a(void) { return 0; }");
    let header = vendor.write("early.h", "#define NUMBER int\nint a(void);\nNUMBER f(NUMBER  x\n\n/* more */\n");
    let error = Describer::new().header(&header).describe(&vendor.exports()).unwrap_err().to_string();
    let place = header.canonicalize().unwrap();
    assert_eq!(error, format!("{}:3: this is beyond the parser: `NUMBER f(NUMBER  x`", place.display()));
}

#[test]
fn a_cpp_header_is_recognised_and_its_library_gets_advice() {
    let vendor = Vendor::new("int a(void);", "int a(void) { return 0; }");
    // The mangled names of C++ without a C++ compiler, which a machine may lack.
    let source = vendor.write("cpp.c", "int _ZN6shapes4areaEdd(void) { return 0; } int _ZN6shapes6CircleC1Ed(void) { return 0; } int plain(int x) { return x; }");
    let library = vendor.path("libcpp.so");
    assert!(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap().success());
    let exports = Exports::read(library).unwrap();
    for (header, sign) in [
        ("#include <vector>\nint f();\n", "#include <vector>"),
        ("int a;\nclass Circle { double r; };\n", "class Circle { double r; };"),
        ("namespace shapes { double area(double, double); }\n", "namespace shapes { double area(double, double); }"),
        ("template <typename T> T twice(T x);\n", "template <typename T> T twice(T x);"),
        ("int f(std::string x);\n", "int f(std::string x);"),
    ] {
        let header = vendor.write("shapes.hpp", header);
        let error = Describer::new().header(&header).describe(&exports).unwrap_err();
        assert!(matches!(error, DescribeError::Cpp { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(&format!("this needs a C++ compiler: `{sign}`")), "{error}");
        assert!(error.contains("export those that you want as `extern \"C\"`"), "{error}");
        assert!(error.contains("shapes::area(double, double)\n    for example: extern \"C\" auto area_tool(double arg1, double arg2) { return shapes::area(arg1, arg2); }"), "{error}");
        assert!(error.contains("shapes::Circle::Circle(double)"), "{error}");
    }
    // With a header for C, the C functions are described and the others shown as they were declared.
    let header = vendor.write("plain.h", "int plain(int x);\nint area(double, double);\n");
    let described = Describer::new().header(header).describe(&exports).unwrap();
    assert_eq!(described.document.functions.len(), 1);
    let advice = "is C++ (`_ZN6shapes4areaEdd`): export it as `extern \"C\"`";
    assert_eq!(skipped(&described, "shapes::area(double, double)").reason, advice);
    assert!(skipped(&described, "area").reason.starts_with("is exported as C++, `shapes::area(double, double)`"));
}

#[test]
#[cfg(target_os = "linux")]
fn libraries_of_the_system_are_described_and_pass_the_check() {
    for (library, header, least) in
        [("libm.so.6", "math.h", 100), ("libz.so.1", "zlib.h", 40), ("libsqlite3.so.0", "sqlite3.h", 150)]
    {
        let exports = Exports::read(find_library(library).unwrap()).unwrap();
        let described = Describer::new().header(header).describe(&exports).unwrap();
        assert_is_clean(&described);
        let count = described.document.functions.len();
        assert!(count >= least, "{library}: {count}");
        // Every exported function is in the document, or skipped with a reason.
        let mut accounted: HashSet<&str> = described.skipped.iter().map(|skipped| skipped.function.as_str()).collect();
        accounted.extend(described.document.functions.iter().map(|function| function.name.as_str()));
        for export in exports.symbols().iter().filter(|export| export.is_default() && export.kind().is_callable()) {
            assert!(accounted.contains(export.name()), "{library}: {}", export.name());
        }
        assert!(described.skipped.iter().all(|skipped| !skipped.reason.is_empty()));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_sqlite_needs_comes_out_as_handles() {
    let exports = Exports::read(find_library("libsqlite3.so.0").unwrap()).unwrap();
    let described = Describer::new().header("sqlite3.h").only("sqlite3_*").describe(&exports).unwrap();
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("sqlite3_open", "ppDb"),
        json!(["string", "void", "pointer", "out", "optional", {"x-handle": "sqlite3"}])
    );
    assert_eq!(
        shape("sqlite3_prepare_v2", "ppStmt"),
        json!(["string", "void", "pointer", "out", "optional", {"x-handle": "sqlite3_stmt", "x-parent": "db"}])
    );
    assert_eq!(
        shape("sqlite3_prepare_v2", "zSql"),
        json!(["string", "char", "pointer", "in", "required", {"x-lengthParam": "nByte"}])
    );
    assert_eq!(
        shape("sqlite3_prepare_v2", "pzTail"),
        json!(["string", "char", "pointer", "out", "optional", {"x-indirect": true}])
    );
    assert_eq!(
        shape("sqlite3_finalize", "pStmt"),
        json!(["string", "void", "pointer", "in", "required", {"x-handle": "sqlite3_stmt", "x-closes": true, "x-review": true}])
    );
    // What a callback is given are the rows, and the message is freed by what the header names for it.
    let rows = &parameter(&described, "sqlite3_exec", "callback").extra["x-callback"];
    assert_eq!(rows["parameters"][2]["texts"], json!(true));
    assert_eq!(
        shape("sqlite3_exec", "errmsg"),
        json!(["string", "char", "pointer", "out", "optional", {"x-indirect": true, "x-free": "sqlite3_free", "x-review": true}])
    );
    // What sqlite would free is kept for the statement instead.
    assert_eq!(parameter(&described, "sqlite3_bind_text", "arg3").extra["x-keep"], json!("sqlite3_stmt"));
    assert_eq!(
        parameter(&described, "sqlite3_prepare_v2", "zSql").description.as_deref(),
        Some("SQL statement, UTF-8 encoded")
    );
}

#[test]
fn an_umbrella_header_is_made_of_its_own_includes() {
    let vendor = Vendor { folder: tempfile::tempdir().unwrap() };
    fs::create_dir_all(vendor.path("sdk/vendor")).unwrap();
    vendor.write("sdk/vendor.h", "#include <stdio.h>\n#include \"vendor/core.h\"\n#include \"vendor/more.h\"\n");
    vendor.write("sdk/vendor/core.h", "int one(int x);\n");
    vendor.write("sdk/vendor/more.h", "#include \"deep.h\"\nint two(int x);\n");
    vendor.write("sdk/vendor/deep.h", "int three(int x);\n");
    let source = "int one(int x) { return x; } int two(int x) { return x; } int three(int x) { return x; }";
    let source = vendor.write("v.c", source);
    let library = vendor.path("libvendor.so");
    assert!(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap().success());
    let names = |describer: Describer| -> Vec<String> {
        let described = describer.describe(&vendor.exports()).unwrap();
        described.document.functions.iter().map(|function| function.name.clone()).collect()
    };
    assert_eq!(names(Describer::new().header(vendor.path("sdk/vendor.h"))), ["one", "three", "two"]);
    // By a name that the compiler finds, and by a pattern.
    assert_eq!(names(Describer::new().header("vendor.h").include(vendor.path("sdk"))), ["one", "three", "two"]);
    assert_eq!(names(Describer::new().header(vendor.path("sdk/vendor/*.h"))), ["one", "three", "two"]);
    assert_eq!(names(Describer::new().header("vendor/c*.h").include(vendor.path("sdk"))), ["one"]);
    let error = Describer::new().header(vendor.path("sdk/*.hpp")).describe(&vendor.exports()).unwrap_err().to_string();
    assert!(error.starts_with("no header matches `"), "{error}");
}

#[test]
fn a_missing_folder_of_headers_is_suggested() {
    let vendor = Vendor::new("int a(void);", "int a(void) { return 0; }");
    fs::create_dir_all(vendor.path("include/vendor")).unwrap();
    vendor.write("include/vendor/types.h", "typedef int number;\n");
    let header = vendor.write("api.h", "#include <vendor/types.h>\nnumber a(void);\n");
    let error = Describer::new().header(&header).describe(&vendor.exports()).unwrap_err().to_string();
    let folder = vendor.folder.path().canonicalize().unwrap().join("include");
    assert!(error.ends_with(&format!("the missing header is there: add `-I {}`", folder.display())), "{error}");
    assert!(Describer::new().header(&header).include(folder).describe(&vendor.exports()).is_ok());
}

#[test]
fn functions_that_macros_rename_go_by_the_name_that_programs_write() {
    let header = "#define vendor_add __vendor_add\nint vendor_add(int a, int b);\nint __vendor_hidden(void);\n";
    let described =
        Vendor::new(header, "int __vendor_add(int a, int b) { return a + b; } int __vendor_hidden(void) { return 0; }")
            .describe();
    let add = function(&described, "vendor_add");
    assert_eq!(add.extra["x-symbol"], json!("__vendor_add"));
    assert!(skipped(&described, "__vendor_hidden").reason.contains("reserved for the system"));
}

#[test]
fn a_header_of_the_system_that_is_a_link_to_another_is_described() {
    // As `ncurses.h` is a link to `curses.h`, which is how the compiler then names it.
    let vendor = Vendor::new("int a(void);", "int a(void) { return 0; }");
    fs::create_dir_all(vendor.path("system")).unwrap();
    vendor.write("system/api.h", "#include <stddef.h>\nint a(void);\n");
    std::os::unix::fs::symlink("api.h", vendor.path("system/vendorapi.h")).unwrap();
    let compiler = format!("cc -isystem {}", vendor.path("system").display());
    let described = Describer::new().compiler(compiler).header("vendorapi.h").describe(&vendor.exports()).unwrap();
    assert_eq!(described.document.functions.len(), 1, "{:?}", described.skipped);
}
