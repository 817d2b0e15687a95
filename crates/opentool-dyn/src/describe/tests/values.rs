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
