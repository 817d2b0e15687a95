//! What the compiler says about tools that cannot be: `TRYBUILD=overwrite cargo test -p opentool-macros --test ui` updates
//! the messages.
//!
//! They stand here and not at the facade, whose features would have every crate built once more for them.

#[test]
fn the_compiler_says_what_to_write_instead() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
