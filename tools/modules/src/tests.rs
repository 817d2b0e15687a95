//! Crates written for the purpose, each with what must be found in it.

use std::fs;
use std::path::Path;

use crate::read::Crate;
use crate::{Report, report};

/// Writes a crate of some files and reports on it.
fn check(files: &[(&str, &str)]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
        fs::write(path, text).unwrap();
    }
    report("sample", &Crate::read(&folder.path().join("lib.rs")).unwrap())
}

#[track_caller]
fn expect_faults(files: &[(&str, &str)], faults: usize) -> String {
    let report = check(files);
    assert_eq!(report.faults, faults, "{}", report.text);
    report.text
}

#[test]
fn layers_have_no_fault() {
    let text = expect_faults(
        &[("lib.rs", "mod a; mod b; pub use b::B;"), ("a.rs", "pub struct A;"), ("b.rs", "pub struct B(crate::a::A);")],
        0,
    );
    assert!(text.contains("  b -> a\n"), "{text}");
}

#[test]
fn two_modules_that_use_each_other_are_a_cycle() {
    let text = expect_faults(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "fn f(_: super::a::A) {} pub struct B;"),
        ],
        2,
    );
    assert!(text.contains("a -> b   (B)"), "{text}");
}

#[test]
fn a_reexport_does_not_hide_a_cycle() {
    expect_faults(
        &[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A(B);"),
            ("b.rs", "use crate::*; pub struct B(A);"),
        ],
        2,
    );
}

#[test]
fn a_path_in_an_attribute_is_a_use() {
    for attribute in [r#"#[serde(default = "crate::a::make")]"#, "#[arg(value_parser = crate::a::make)]"] {
        expect_faults(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B; pub fn make() -> B { todo() }"),
                ("b.rs", &format!("pub struct B {{ {attribute} field: u8 }}")),
            ],
            2,
        );
    }
}

#[test]
fn a_renamed_import_of_a_module_is_followed() {
    expect_faults(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b as other; pub struct A(other::B);"),
            ("b.rs", "pub struct B; fn f() -> crate::a::A { todo() }"),
        ],
        2,
    );
}

#[test]
fn parent_and_child_may_be_a_cycle() {
    expect_faults(
        &[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod c; pub struct A(c::C);"),
            ("a/c.rs", "pub struct C(Option<Box<super::A>>);"),
        ],
        1,
    );
}

#[test]
fn subtrees_of_a_folder_may_be_a_cycle_where_no_modules_are() {
    let text = expect_faults(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub mod x; pub mod y;"),
            ("a/x.rs", "pub struct X(crate::b::B);"),
            ("a/y.rs", "pub struct Y;"),
            ("b.rs", "pub struct B(crate::a::y::Y);"),
        ],
        1,
    );
    assert!(text.contains("CYCLE of subtrees of crate in sample: a, b"), "{text}");
}

#[test]
fn paths_inside_macros_and_macros_of_parents_count() {
    expect_faults(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub const A: u8 = 1; fn f() { println!(\"{}\", crate::b::B); }"),
            ("b.rs", "pub const B: u8 = crate::a::A;"),
        ],
        2,
    );
    expect_faults(
        &[("lib.rs", "macro_rules! m { () => {} } mod a; pub use a::A;"), ("a.rs", "m!(); pub struct A;")],
        1,
    );
}

#[test]
fn tests_and_visibilities_do_not_count() {
    expect_faults(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub(in crate::b) struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "pub struct B(crate::a::A);"),
        ],
        0,
    );
}

#[test]
fn code_that_needs_test_does_not_count() {
    let faults = |cfg: &str| {
        let a = format!("pub struct A; #[cfg({cfg})] fn f(_: crate::b::B) {{}}");
        check(&[("lib.rs", "mod a; mod b;"), ("a.rs", &a), ("b.rs", "pub struct B(crate::a::A);")]).faults
    };
    for cfg in ["test", "all(unix, test)", "all(unix, all(test))", "any(test, all(unix, test))", "all(any(test), unix)"]
    {
        assert_eq!(faults(cfg), 0, "{cfg}");
    }
    for cfg in
        [r#"all(unix, any(feature = "x", test))"#, "any(test, unix)", "not(test)", "all(unix, not(test))", "unix"]
    {
        assert_eq!(faults(cfg), 2, "{cfg}");
    }
}

/// A type with its loop in one module and what the loop calls, `step`, in another.
fn split_type(caller: &str, definer: &str) -> Report {
    let run = format!("pub struct Run; {caller}");
    check(&[("lib.rs", "mod run; mod step; pub use run::Run;"), ("run.rs", &run), ("step.rs", definer)])
}

#[test]
fn a_method_defined_in_another_module_is_a_use() {
    let definer = "use crate::Run as Turn; impl Turn { pub fn step(&self) {} }";
    for call in ["self.step()", "Self::step(self)", "(&*self).step()", "log!(\"{}\", self.step())", "map(Self::step)"] {
        let inherent = format!("impl Run {{ fn all(&self) {{ {call}; }} }}");
        let of_trait = format!("impl Drop for Run {{ fn drop(&mut self) {{ {call}; }} }}");
        for caller in [inherent, of_trait] {
            let report = split_type(&caller, definer);
            assert_eq!(report.faults, 2, "{caller} {}", report.text);
            assert!(report.text.contains("run -> step   (self.step)"), "{}", report.text);
        }
    }
}

#[test]
fn a_method_of_another_type_is_no_use() {
    let caller = "impl Run { fn all(&self) { self.step() } }";
    for definer in [
        "use crate::Run; struct Other(Run); impl Other { fn step(&self) {} }",
        "use crate::Run; impl Step for Run { fn step(&self) {} }",
        "use crate::Run; impl Run { #[cfg(test)] fn step(&self) {} }",
        "use crate::Run; impl Run { fn other(&self) {} }",
    ] {
        let report = split_type(caller, definer);
        assert_eq!(report.faults, 0, "{definer} {}", report.text);
    }
    let own = split_type(
        "impl Run { fn all(&self) { self.step() } fn step(&self) {} }",
        "use crate::Run; impl Run { fn step(&self) {} }",
    );
    assert_eq!(own.faults, 0, "{}", own.text);
}

#[test]
fn a_repeated_type_name_is_a_fault_unless_it_is_usual() {
    expect_faults(&[("lib.rs", "mod a; mod b;"), ("a.rs", "struct Kind;"), ("b.rs", "fn f() { enum Kind {} }")], 1);
    expect_faults(&[("lib.rs", "mod a; mod b;"), ("a.rs", "struct Error;"), ("b.rs", "enum Error {}")], 0);
    expect_faults(&[("lib.rs", "#[cfg(unix)] struct Kind; #[cfg(not(unix))] struct Kind;")], 0);
}
