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
fn an_enumeration_has_the_type_that_its_values_need() {
    let described = declared(
        "typedef enum { A = 1, B = 0xFFFFFFFF } wide;
         typedef enum { C = -1, D = 0x80000000 } both;
         typedef enum { E = 0x100000000LL } wider;
         typedef enum { F = 0xFFFFFFFFFFFFFFFFULL } widest;
         typedef enum { G = 2147483647, H = -2147483647 - 1 } plain;",
        &["int take(wide a, both b, wider c, widest d, plain e, const wide *f)", "wide give(void)"],
    );
    let shape = |name: &str| shape(parameter(&described, "take", name));
    assert_eq!(shape("a"), json!(["integer", "unsigned int", "value", "in", "required"]));
    assert_eq!(shape("b"), json!(["integer", "long long", "value", "in", "required"]));
    assert_eq!(shape("c"), json!(["integer", "long long", "value", "in", "required"]));
    assert_eq!(shape("d"), json!(["integer", "unsigned long long", "value", "in", "required"]));
    assert_eq!(shape("e"), json!(["integer", "int", "value", "in", "required"]));
    assert_eq!(shape("f")[1], json!("unsigned int"));
    let told = parameter(&described, "take", "d").description.as_deref();
    assert_eq!(told, Some("One of 18446744073709551615 (F)."));
    let returns = function(&described, "give").returns.as_ref().unwrap();
    assert_eq!(returns.schema.c_type.as_ref().unwrap().name, CTypeName::UnsignedInt);
}

#[test]
fn whatever_a_function_is_called_that_ends_a_handle_it_is_taken_to_end_it() {
    let ends = ["dev_unref", "dev_end", "devEnd", "dev_finish", "dev_free", "dev_close_v2"];
    let goes_on = ["dev_append", "dev_send", "dev_reference", "dev_freeze"];
    let mut prototypes = vec!["dev *dev_new(void)".to_owned()];
    prototypes.extend(ends.iter().chain(&goes_on).map(|name| format!("int {name}(dev *which)")));
    let described = declared("typedef struct dev dev;", &prototypes.iter().map(String::as_str).collect::<Vec<_>>());
    let closes = |name: &str| parameter(&described, name, "which").extra.contains_key("x-closes");
    assert!(ends.iter().all(|name| closes(name)));
    assert!(!goes_on.iter().any(|name| closes(name)));
}
