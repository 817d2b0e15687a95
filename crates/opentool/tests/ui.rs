//! What the compiler says about tools that cannot be: `TRYBUILD=overwrite cargo test -p opentool --test ui` updates the
//! messages.

#[test]
fn the_compiler_says_what_to_write_instead() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
