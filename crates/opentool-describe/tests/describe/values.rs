//! What pointers, arrays and enumerations become.

use opentool_spec::CTypeName;

use super::*;

/// A library of functions that are declared and do nothing.
fn declared(types: &str, prototypes: &[&str]) -> Description {
    let header = format!("{types}\n{};\n", prototypes.join(";\n"));
    let source: String = prototypes.iter().map(|prototype| format!("{prototype} {{ return 0; }}\n")).collect();
    Vendor::new(&format!("#include <stddef.h>\n#include <stdint.h>\n{header}"), &source).describe()
}

#[test]
fn an_array_of_known_length_is_a_buffer_or_list_of_it() {
    let described = declared(
        "typedef char name[32];",
        &[
            "int digest(const uint8_t *data, size_t length, uint8_t digest[16])",
            "int tell(name out)",
            "int seal(const unsigned char key[16])",
            "int mean(const double values[static 4])",
            "int call(const char code[8])",
        ],
    );
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("digest", "digest"),
        json!(["string", "unsigned char", "pointer", "out", "optional", {"x-size": 16, "x-encoding": "base64", "x-review": true}])
    );
    assert_eq!(
        shape("tell", "out"),
        json!(["string", "char", "pointer", "out", "optional", {"x-size": 32, "x-review": true}])
    );
    assert_eq!(
        shape("seal", "key"),
        json!(["string", "unsigned char", "pointer", "in", "required", {"x-encoding": "base64"}])
    );
    assert_eq!(shape("call", "code"), json!(["string", "char", "pointer", "in", "required"]));
    let limits = |of: &str, name: &str| json!(parameter(&described, of, name).schema.extra);
    assert_eq!(limits("mean", "values"), json!({"minItems": 4, "maxItems": 4}));
    // 16 bytes in base 64, with their padding.
    assert_eq!(limits("seal", "key"), json!({"minLength": 24, "maxLength": 24}));
    assert_eq!(limits("digest", "digest"), json!({}));
    assert_eq!(limits("call", "code"), json!({}));
}

#[test]
fn a_size_after_a_source_is_that_of_the_buffer_before_it() {
    let described = declared(
        "",
        &[
            "size_t copy_text(char *into, const char *from, size_t size)",
            "int copy_bytes(unsigned char *into, const unsigned char *from, size_t length)",
            "int copy_numbers(double *into, const double *from, int count)",
            "int encode(char *into, const unsigned char *from, size_t length)",
            "int seal(char *into, const char *key, size_t key_length)",
        ],
    );
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("copy_text", "into"),
        json!(["string", "char", "pointer", "out", "optional", {"x-sizeParam": "size", "x-review": true}])
    );
    assert_eq!(shape("copy_text", "from"), json!(["string", "char", "pointer", "in", "required"]));
    assert_eq!(shape("copy_text", "size"), json!(["integer", "unsigned long", "value", "in", "required"]));
    assert_eq!(
        shape("copy_bytes", "into"),
        json!(["string", "unsigned char", "pointer", "out", "optional",
            {"x-encoding": "base64", "x-sizeParam": "length", "x-review": true}])
    );
    assert_eq!(
        shape("copy_bytes", "from"),
        json!(["string", "unsigned char", "pointer", "in", "required", {"x-encoding": "base64", "x-lengthParam": "length"}])
    );
    assert_eq!(shape("copy_bytes", "length"), json!(["integer", "unsigned long", "value", "in", "optional"]));
    assert_eq!(
        shape("copy_numbers", "into"),
        json!(["array", "double", "pointer", "out", "optional", {"x-sizeParam": "count", "x-review": true}])
    );
    assert_eq!(
        shape("copy_numbers", "from"),
        json!(["array", "double", "pointer", "in", "required", {"x-lengthParam": "count"}])
    );
    // Where the two hold different things, or the name says whose it is, the size is that of the one before it.
    assert_eq!(
        shape("seal", "key"),
        json!(["string", "char", "pointer", "in", "required",
            {"x-encoding": "base64", "x-lengthParam": "key_length", "x-review": true}])
    );
    assert_eq!(
        shape("encode", "from"),
        json!(["string", "unsigned char", "pointer", "in", "required", {"x-encoding": "base64", "x-lengthParam": "length"}])
    );
}

#[test]
fn a_number_after_a_text_is_its_length_with_a_review_mark() {
    let described = declared(
        "",
        &[
            "int at(const char *text, size_t place)",
            "int first(const char *text, size_t n)",
            "int hash(const char *text, size_t text_length)",
            "int pick(const double *values, size_t place)",
            "int sum(const double *values, int n)",
            "int put(const void *bytes, int n)",
        ],
    );
    let mark = |of: &str, name: &str| parameter(&described, of, name).extra.get("x-review").cloned();
    let guess = |counter: &str| {
        Some(json!(format!(
            "`{counter}` is taken as its length by its type and place: where it is something else, remove `x-lengthParam`"
        )))
    };
    assert_eq!(mark("at", "text"), guess("place"));
    assert_eq!(mark("first", "text"), guess("n"));
    assert_eq!(mark("hash", "text"), None);
    assert_eq!(mark("pick", "values"), guess("place"));
    assert_eq!(mark("sum", "values"), None);
    assert_eq!(mark("put", "bytes"), None);
}

#[test]
fn an_enumeration_has_the_type_that_its_values_need() {
    let described = declared(
        "typedef enum { A = 1, B = 0xFFFFFFFF } wide;
         typedef enum { C = -1, D = 0x80000000 } both;
         typedef enum { E = 0x100000000LL } wider;
         typedef enum { F = 0xFFFFFFFFFFFFFFFFULL } widest;
         typedef enum { G = 2147483647, H = -2147483647 - 1 } plain;",
        &["int take(wide a, both b, wider c, widest d, plain e, const wide *f)", "wide give(void)"],
    );
    let shape = |name: &str| json!(shape(parameter(&described, "take", name)).as_array().unwrap()[..5]);
    assert_eq!(shape("a"), json!(["integer", "unsigned int", "value", "in", "required"]));
    assert_eq!(shape("b"), json!(["integer", "long long", "value", "in", "required"]));
    assert_eq!(shape("c"), json!(["integer", "long long", "value", "in", "required"]));
    assert_eq!(shape("d"), json!(["integer", "unsigned long long", "value", "in", "required"]));
    assert_eq!(shape("e"), json!(["integer", "int", "value", "in", "required"]));
    assert_eq!(shape("f")[1], json!("unsigned int"));
    let message = parameter(&described, "take", "d").description.as_deref();
    assert_eq!(message, Some("One of 18446744073709551615 (F)."));
    let returns = function(&described, "give").returns.as_ref().unwrap();
    assert_eq!(returns.schema.c_type.as_ref().unwrap().name, CTypeName::UnsignedInt);
}

#[test]
fn an_array_of_texts_is_no_pointer_that_may_be_null() {
    let described = declared(
        "",
        &[
            "int join(const char *const *parts, size_t n)",
            "int join_all(const char *const *parts)",
            "int count(char **lines, int count)",
            "int run(int argc, char **argv)",
            "int grid(char cells[3][3])",
            "int rest(const char *text, const char **tail)",
        ],
    );
    for (name, declared) in [
        ("join", "const char *const *parts"),
        ("join_all", "const char *const *parts"),
        ("count", "char **lines"),
        ("run", "char **argv"),
    ] {
        assert_eq!(skipped(&described, name).reason, format!("takes `{declared}`, an array of texts"));
    }
    assert_eq!(skipped(&described, "grid").reason, "takes `char cells[3][3]`, an array of arrays");
    assert_eq!(
        shape(parameter(&described, "rest", "tail")),
        json!(["string", "char", "pointer", "out", "optional", {"x-indirect": true, "x-review": true}])
    );
}

#[test]
fn functions_named_like_destructors_close_their_handle() {
    let ends = ["dev_unref", "dev_end", "devEnd", "dev_finish", "dev_free", "dev_close_v2"];
    let goes_on = ["dev_append", "dev_send", "dev_reference", "dev_freeze"];
    let mut prototypes = vec!["dev *dev_new(void)".to_owned()];
    prototypes.extend(ends.iter().chain(&goes_on).map(|name| format!("int {name}(dev *which)")));
    let described = declared("typedef struct dev dev;", &prototypes.iter().map(String::as_str).collect::<Vec<_>>());
    let closes = |name: &str| parameter(&described, name, "which").extra.contains_key("x-closes");
    assert!(ends.iter().all(|name| closes(name)));
    assert!(!goes_on.iter().any(|name| closes(name)));
}
