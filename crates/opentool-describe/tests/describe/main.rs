//! Documents written from real libraries and headers, which the tests compile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod comments;
mod guesses;
mod headers;
mod lifetimes;
mod structs;
mod values;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use opentool_describe::{DescribeError, Describer, Description, Skipped};
use opentool_dyn::Exports;
use opentool_spec::{Code, DynFunction, DynParameter, Finding, Severity};
use serde_json::{Value, json};

/// A folder with a vendor's library and header.
struct Vendor {
    folder: tempfile::TempDir,
}

impl Vendor {
    fn new(header: &str, source: &str) -> Self {
        let vendor = Self { folder: tempfile::tempdir().unwrap() };
        vendor.write("vendor.h", header);
        vendor.write("vendor.c", &format!("#include <stdarg.h>\n#include <stddef.h>\n#include \"vendor.h\"\n{source}"));
        let (library, source) = (vendor.path("libvendor.so"), vendor.path("vendor.c"));
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([library, source]).status().unwrap();
        assert!(compiled.success());
        vendor
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn exports(&self) -> Exports {
        Exports::read(self.path("libvendor.so")).unwrap()
    }

    fn describe(&self) -> Description {
        let described = Describer::new().header(self.path("vendor.h")).describe(&self.exports()).unwrap();
        assert_is_clean(&described);
        described
    }
}

/// The check of documents finds nothing to say about it but the marks.
fn assert_is_clean(described: &Description) {
    let text = serde_json::to_string_pretty(&described.document).unwrap();
    let report = opentool_spec::check(&text);
    let is_fine = |finding: &Finding| finding.severity < Severity::Warning || finding.code == Code::Review;
    assert!(report.findings.iter().all(is_fine), "{:#?}", report.findings);
    // What is marked in the document is listed, and the other way round.
    assert_eq!(text.matches("\"x-review\"").count(), described.reviews.len());
}

fn function<'d>(described: &'d Description, name: &str) -> &'d DynFunction {
    let found = described.document.functions.iter().find(|function| function.name == name);
    found.unwrap_or_else(|| panic!("no {name}; skipped: {:#?}", described.skipped))
}

fn parameter<'d>(described: &'d Description, of: &str, name: &str) -> &'d DynParameter {
    function(described, of).parameters.iter().find(|parameter| parameter.name == name).unwrap()
}

fn skipped<'d>(described: &'d Description, name: &str) -> &'d Skipped {
    described.skipped.iter().find(|skipped| skipped.function == name).unwrap()
}

/// Type, C type and pointer, direction, need, and what is there besides.
fn shape(parameter: &DynParameter) -> Value {
    let parameter = serde_json::to_value(parameter).unwrap();
    let mut shape = json!([
        parameter["schema"]["type"],
        parameter["schema"]["cType"]["type"],
        if parameter["schema"]["cType"]["isPointer"] == true { "pointer" } else { "value" },
        if parameter["isIn"] == true { "in" } else { "out" },
        if parameter["required"] == true { "required" } else { "optional" },
    ]);
    let keys: serde_json::Map<String, Value> = parameter
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| key.starts_with("x-"))
        .map(|(key, value)| (key.clone(), if key == "x-review" { true.into() } else { value.clone() }))
        .collect();
    if !keys.is_empty() {
        shape.as_array_mut().unwrap().push(keys.into());
    }
    shape
}

const HEADER: &str = r#"
#ifndef VENDOR_H
#define VENDOR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum { VENDOR_RED, VENDOR_GREEN = 5, VENDOR_BLUE, VENDOR_LAST = VENDOR_RED - 1 } vendor_color;
typedef struct vendor_session vendor_session;
typedef struct { double x, y; } vendor_point;

/* Adds two numbers. */
int vendor_add(int a, int b);

/**
 * @brief Mixes every kind of number.
 * @param flag Whether to.
 * @return The mix.
 */
uint64_t vendor_mix(bool flag, signed char tiny, unsigned char byte, short s, uint16_t us, uint32_t u, long l, size_t size, int64_t big, float f, double d);

const char *vendor_name(vendor_color color);
char *vendor_join(const char *first, const char *second);
int vendor_read(char *buffer, size_t capacity);
int vendor_pack(unsigned char *dest, unsigned long *dest_length, const unsigned char *source, unsigned long source_length);
double vendor_sum(const double *values, int count);
void vendor_fill(double *values, size_t count);
void vendor_split(double x, int *whole, double *fraction);
/** @param[in] scale by how much @param[out] result of it */
int vendor_scale(const float *scale, double vector[3]);
/**
 * In full.
 * @param[out] result the result
 */
void vendor_reported(int *result);
int vendor_open(const char *path, vendor_session **session);
vendor_session *vendor_parent(vendor_session *session);
int vendor_close(vendor_session *session);
double vendor_length(vendor_point point);
vendor_point vendor_origin(void);
int vendor_log(const char *format, ...);
int vendor_each(vendor_session *session, int (*callback)(void *data, int value), void *data);
int vendor_later(void (*callback)(va_list list));
long double vendor_precise(long double x);
int vendor_print(FILE *file);
void *vendor_memory(void);
int vendor_missing(int a);
int vendor_old();
int vendor_blob(const void *data);

#ifdef __cplusplus
}
#endif
#endif
"#;

const SOURCE: &str = r#"
struct vendor_session { int x; };
int vendor_add(int a, int b) { return a + b; }
uint64_t vendor_mix(bool flag, signed char tiny, unsigned char byte, short s, uint16_t us, uint32_t u, long l, size_t size, int64_t big, float f, double d) { return 0; }
const char *vendor_name(vendor_color color) { return ""; }
char *vendor_join(const char *first, const char *second) { return 0; }
int vendor_read(char *buffer, size_t capacity) { return 0; }
int vendor_pack(unsigned char *dest, unsigned long *dest_length, const unsigned char *source, unsigned long source_length) { return 0; }
double vendor_sum(const double *values, int count) { return 0; }
void vendor_fill(double *values, size_t count) {}
void vendor_split(double x, int *whole, double *fraction) {}
int vendor_scale(const float *scale, double vector[3]) { return 0; }
void vendor_reported(int *result) {}
int vendor_open(const char *path, vendor_session **session) { return 0; }
vendor_session *vendor_parent(vendor_session *session) { return session; }
int vendor_close(vendor_session *session) { return 0; }
double vendor_length(vendor_point point) { return 0; }
vendor_point vendor_origin(void) { vendor_point p = {0, 0}; return p; }
int vendor_log(const char *format, ...) { return 0; }
int vendor_each(vendor_session *session, int (*callback)(void *data, int value), void *data) { return 0; }
int vendor_later(void (*callback)(va_list list)) { return 0; }
long double vendor_precise(long double x) { return x; }
int vendor_print(FILE *file) { return 0; }
void *vendor_memory(void) { return 0; }
int vendor_old() { return 0; }
int vendor_blob(const void *data) { return 0; }
int vendor_undeclared(void) { return 0; }
int vendor_data = 1;
"#;

#[test]
fn every_number_keeps_its_type_through_typedefs() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let mix = function(&described, "vendor_mix");
    let types: Vec<_> = mix.parameters.iter().map(|parameter| shape(parameter)[1].clone()).collect();
    assert_eq!(
        types,
        [
            "bool",
            "char",
            "unsigned char",
            "short",
            "unsigned short",
            "unsigned int",
            "long",
            "unsigned long",
            "long",
            "float",
            "double"
        ]
    );
    let returns = mix.returns.as_ref().unwrap().schema.c_type.as_ref().unwrap();
    assert_eq!((returns.name.as_str(), returns.is_pointer), ("unsigned long", false));
}

#[test]
fn comments_of_the_header_become_descriptions() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    assert_eq!(function(&described, "vendor_add").description, "Adds two numbers.");
    let mix = function(&described, "vendor_mix");
    assert_eq!(mix.description, "Mixes every kind of number.");
    assert_eq!(mix.parameters[0].description.as_deref(), Some("Whether to."));
    assert_eq!(mix.returns.as_ref().unwrap().description.as_deref(), Some("The mix."));
    let name = function(&described, "vendor_name");
    assert_eq!(name.description, "The C function `const char *vendor_name(vendor_color color)`.");
    assert!(described.uncommented.contains(&"vendor_name".to_owned()));
}

#[test]
fn an_enumeration_is_an_int_with_its_values_in_the_description() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let color = parameter(&described, "vendor_name", "color");
    let values = json!({"VENDOR_RED": 0, "VENDOR_GREEN": 5, "VENDOR_BLUE": 6, "VENDOR_LAST": -1});
    assert_eq!(shape(color), json!(["integer", "int", "value", "in", "required", {"x-values": values}]));
    let message = "One of 0 (VENDOR_RED), 5 (VENDOR_GREEN), 6 (VENDOR_BLUE), -1 (VENDOR_LAST).";
    assert_eq!(color.description.as_deref(), Some(message));
}

#[test]
fn pointers_are_text_buffers_arrays_or_outputs() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(shape("vendor_join", "first"), json!(["string", "char", "pointer", "in", "required"]));
    assert_eq!(
        shape("vendor_read", "buffer"),
        json!(["string", "char", "pointer", "out", "optional", {"x-sizeParam": "capacity", "x-review": true}])
    );
    assert_eq!(shape("vendor_read", "capacity"), json!(["integer", "unsigned long", "value", "in", "required"]));
    assert_eq!(
        shape("vendor_pack", "dest"),
        json!(["string", "unsigned char", "pointer", "out", "optional",
            {"x-encoding": "base64", "x-sizeParam": "dest_length", "x-lengthParam": "dest_length", "x-review": true}])
    );
    assert_eq!(
        shape("vendor_pack", "dest_length"),
        json!(["integer", "unsigned long", "pointer", "in", "optional", {"x-inOut": true}])
    );
    assert_eq!(
        shape("vendor_pack", "source"),
        json!(["string", "unsigned char", "pointer", "in", "required", {"x-encoding": "base64", "x-lengthParam": "source_length"}])
    );
    assert_eq!(shape("vendor_pack", "source_length"), json!(["integer", "unsigned long", "value", "in", "optional"]));
    assert_eq!(
        shape("vendor_sum", "values"),
        json!(["array", "double", "pointer", "in", "required", {"x-lengthParam": "count"}])
    );
    assert_eq!(
        shape("vendor_fill", "values"),
        json!(["array", "double", "pointer", "out", "optional", {"x-sizeParam": "count", "x-review": true}])
    );
    assert_eq!(
        shape("vendor_split", "whole"),
        json!(["integer", "int", "pointer", "out", "optional", {"x-review": true}])
    );
    assert_eq!(
        shape("vendor_split", "fraction"),
        json!(["number", "double", "pointer", "out", "optional", {"x-review": true}])
    );
    assert_eq!(
        shape("vendor_scale", "vector"),
        json!(["array", "double", "pointer", "out", "optional", {"x-size": 3, "x-review": true}])
    );
    // What the header says need not be looked at again.
    assert_eq!(shape("vendor_reported", "result"), json!(["integer", "int", "pointer", "out", "optional"]));
    // A result has a name of its own.
    assert!(function(&described, "vendor_reported").returns.is_none());
}

#[test]
fn opaque_structs_are_handles_returned_taken_and_closed() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("vendor_open", "session"),
        json!(["string", "void", "pointer", "out", "optional", {"x-handle": "vendor_session"}])
    );
    assert_eq!(
        shape("vendor_parent", "session"),
        json!(["string", "void", "pointer", "in", "required", {"x-handle": "vendor_session"}])
    );
    assert_eq!(
        shape("vendor_close", "session"),
        json!(["string", "void", "pointer", "in", "required", {"x-handle": "vendor_session", "x-closes": true, "x-review": true}])
    );
    assert_eq!(function(&described, "vendor_open").extra["x-returnsCode"], json!(true));
    // A handle ends with its destructor whatever that returns, unless the comment says what success is.
    assert!(!function(&described, "vendor_close").extra.contains_key("x-returnsCode"));
    assert_eq!(
        function(&described, "vendor_parent").returns.as_ref().unwrap().extra["x-handle"],
        json!("vendor_session")
    );
    assert!(!function(&described, "vendor_parent").extra.contains_key("x-returnsCode"));
}

#[test]
fn skipped_functions_are_listed_with_reason_and_shim() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let message = |name: &str| {
        let skipped = skipped(&described, name);
        (skipped.reason.as_str(), skipped.shim.as_deref())
    };
    assert_eq!(
        message("vendor_log"),
        (
            "takes any number of arguments (`...`)",
            Some("int vendor_log_tool(const char *format, const char *text) { return vendor_log(format, text); }")
        )
    );
    assert_eq!(message("vendor_later"), ("takes `void (*callback)(va_list list)`, a callback", None));
    assert_eq!(
        message("vendor_precise"),
        (
            "takes `long double x`, which the spec has no type for",
            Some("double vendor_precise_tool(double x) { return vendor_precise(x); }")
        )
    );
    assert_eq!(message("vendor_print"), ("takes `FILE *file`, a struct that the caller must make", None));
    assert_eq!(message("vendor_memory"), ("returns `void *`, an address of unknown content", None));
    assert_eq!(message("vendor_blob"), ("takes `const void *data`, an address without a length", None));
    assert_eq!(message("vendor_missing"), ("is declared, but the library does not export it", None));
    assert_eq!(message("vendor_undeclared"), ("is exported, but no header declares it", None));
    assert!(described.skipped.iter().all(|skipped| skipped.function != "vendor_data"));
}

#[test]
fn a_declaration_without_parameters_has_none() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let old = function(&described, "vendor_old");
    assert!(old.parameters.is_empty());
    assert_eq!(
        old.extra["x-review"],
        json!("`()` says nothing about what it takes: remove it where it takes something")
    );
}

#[test]
fn the_shims_compile_against_the_header() {
    let vendor = Vendor::new(HEADER, SOURCE);
    let described = vendor.describe();
    let mut source = "#include <stddef.h>\n#include \"vendor.h\"\n".to_owned();
    let shims: Vec<_> = described.skipped.iter().filter_map(|skipped| skipped.shim.as_deref()).collect();
    assert_eq!(shims.len(), 2);
    source.push_str(&shims.join("\n"));
    let source = vendor.write("shims.c", &source);
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-Wno-format-security", "-c", "-o"])
        .arg(vendor.path("shims.o"))
        .arg(source)
        .status();
    assert!(compiled.unwrap().success());
}

#[test]
fn functions_of_handles_that_none_returns_are_left_out() {
    let header =
        "typedef struct ghost ghost; typedef struct host host; int a(ghost *g); ghost *b(host *h); int c(int x);";
    let source = "int a(ghost *g) { return 0; } ghost *b(host *h) { return 0; } int c(int x) { return x; }";
    let described = Vendor::new(header, source).describe();
    assert_eq!(described.document.functions.len(), 1);
    assert_eq!(skipped(&described, "b").reason, "takes a `host *`, which no function that can be described returns");
    assert_eq!(skipped(&described, "a").reason, "takes a `ghost *`, which no function that can be described returns");
}
