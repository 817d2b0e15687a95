//! What the compiler says about tools that cannot be: `TRYBUILD=overwrite cargo test -p opentool-macros --test ui` updates
//! the messages.
//!
//! They stand here and not at the facade, whose features would have every crate built once more for them. What compiles is in
//! the test files beside this one: with a program that runs among its cases, trybuild starts cargo once a case.

#[test]
fn the_compiler_says_what_to_write_instead() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}
