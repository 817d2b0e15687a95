//! Whose comment is whose.

use super::*;

/// The description of every function, and whether it is marked for review.
fn descriptions(header: &str, source: &str) -> Vec<(String, String, bool)> {
    let described = Vendor::new(header, source).describe();
    let functions = described.document.functions.iter();
    functions
        .map(|function| (function.name.clone(), function.description.clone(), function.extra.contains_key("x-review")))
        .collect()
}

fn expected(descriptions: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
    descriptions.iter().map(|(name, text, review)| (name.to_string(), text.to_string(), *review)).collect()
}

#[test]
fn a_comment_about_parameters_belongs_to_one_function() {
    let header = "
typedef struct dev dev;
/** @brief Open a device.
 *  @param[in]  path   Path of the device.
 *  @param[out] opened Receives the device.
 *  @retval 0 on success
 */
int dev_open(const char *path, dev **opened);
int dev_close(dev *opened);

/** Adds two numbers.
 * \\param a the first
 * \\param[in] b the second
 * \\return the sum
 */
int add(int a, int b);
int swap(int *a, int *b);
";
    let source = "struct dev { int x; };
int dev_open(const char *path, dev **opened) { return 0; } int dev_close(dev *opened) { return 0; }
int add(int a, int b) { return a + b; } int swap(int *a, int *b) { return 0; }";
    let described = Vendor::new(header, source).describe();
    assert_eq!(function(&described, "dev_open").description, "Open a device.");
    assert_eq!(function(&described, "dev_close").description, "The C function `int dev_close(dev *opened)`.");
    assert_eq!(parameter(&described, "dev_close", "opened").description, None);
    assert_eq!(function(&described, "swap").description, "The C function `int swap(int *a, int *b)`.");
    assert_eq!(function(&described, "swap").returns.as_ref().unwrap().description, None);
    assert_eq!(
        shape(parameter(&described, "swap", "b")),
        json!(["integer", "int", "pointer", "out", "optional", {"x-review": true}])
    );
    assert_eq!(described.uncommented, ["dev_close", "swap"]);
}

#[test]
fn a_plain_comment_is_shared_by_those_below_and_marked() {
    let header = "
/* Reads the version. */
int version(void);
int version_minor(void);
int version_patch(void); // The last of the three.
int lone(void);
";
    let source = "int version(void) { return 1; } int version_minor(void) { return 1; } int version_patch(void) { return 1; } int lone(void) { return 1; }";
    assert_eq!(
        descriptions(header, source),
        expected(&[
            ("version", "Reads the version.", false),
            ("version_minor", "Reads the version.", true),
            ("version_patch", "The last of the three.", false),
            ("lone", "The C function `int lone(void)`.", false),
        ])
    );
}

#[test]
fn a_shared_comment_and_a_returned_code_are_one_mark() {
    let header = "typedef struct dev dev;\n/* Devices. */\ndev *dev_first(void);\nint dev_open(dev **which);\n";
    let source = "struct dev { int x; }; dev *dev_first(void) { return 0; } int dev_open(dev **which) { return 0; }";
    let described = Vendor::new(header, source).describe();
    assert_eq!(
        function(&described, "dev_open").extra["x-review"],
        json!(
            "the function is taken to return 0 for success, and anything else for an error; its description is the \
             comment of a function above it: say what this one does"
        )
    );
}

#[test]
fn headings_and_what_is_said_of_types_describe_no_function() {
    let header = "
/* ---- Basic ---- */
int init(void);
int shutdown_all(void);
/* ========
 * Numbers
 * ======== */
int numbers(void);
/***** Texts *****/
int texts(void);
/* The units. */
typedef enum { CELSIUS, KELVIN } unit;
int convert(unit into);
/* --- Limits ---
 * Tells the largest. */
int largest(void);
";
    let source = "int init(void) { return 0; } int shutdown_all(void) { return 0; } int numbers(void) { return 0; } int texts(void) { return 0; } int convert(unit into) { return 0; } int largest(void) { return 0; }";
    assert_eq!(
        descriptions(header, source),
        expected(&[
            ("init", "The C function `int init(void)`.", false),
            ("shutdown_all", "The C function `int shutdown_all(void)`.", false),
            ("numbers", "The C function `int numbers(void)`.", false),
            ("texts", "The C function `int texts(void)`.", false),
            ("convert", "The C function `int convert(unit into)`.", false),
            ("largest", "Tells the largest.", false),
        ])
    );
}
