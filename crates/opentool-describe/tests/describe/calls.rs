//! Documents that are written from headers, used.

use std::fmt::Write as _;
use std::process::Command;

use opentool_core::{Arguments, Invocation, Tool as _, ToolContext, ToolError, ToolOutput};
use opentool_describe::Describer;
use opentool_dyn::{DynLibrary, Exports, Isolation, find_library};
use opentool_spec::{CTypeName, DynFunction, OpenDyn};
use serde_json::{Map, Value, json};

/// Calls a tool, and returns its result.
pub(crate) fn call(library: &DynLibrary, name: &str, arguments: Value) -> Value {
    let output = run(library, name, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&output.to_text()).unwrap()
}

/// Calls a tool that must fail, and returns its error.
pub(crate) fn refused(library: &DynLibrary, name: &str, arguments: Value) -> String {
    match run(library, name, &arguments) {
        Ok(output) => panic!("{name} answered {}", output.to_text()),
        Err(error) => error.to_string(),
    }
}

fn run(library: &DynLibrary, name: &str, arguments: &Value) -> Result<ToolOutput, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tool = library.toolbox().get(name).unwrap_or_else(|| panic!("no tool `{name}`"));
    let (arguments, context) = (Arguments::from(arguments.to_string().as_str()), ToolContext::new());
    runtime.block_on(tool.call(Invocation::new(&arguments, &context)))
}

fn describe(library: &str, header: &str) -> (OpenDyn, DynLibrary) {
    let exports = Exports::read(find_library(library).unwrap()).unwrap();
    let document = Describer::new().header(header).describe(&exports).unwrap().document;
    let text = serde_json::to_string(&document).unwrap();
    let builder = DynLibrary::builder().document_text(text).library(library).isolation(Isolation::None);
    let opened = builder.open().unwrap();
    assert_eq!(opened.disabled().collect::<Vec<_>>(), [], "every function that is described can be called");
    (document, opened)
}

/// The C type of a parameter or return value, and whether it is behind a pointer.
fn c_type(schema: &opentool_spec::DynSchema) -> (CTypeName, bool) {
    let c_type = schema.c_type.as_ref().unwrap();
    (c_type.name, c_type.is_pointer)
}

const DOUBLES: [f64; 12] =
    [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e-300, 1e300, 123.456, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const INTEGERS: [i64; 6] = [0, 1, -3, 2, 7, 30];

/// The value of an argument in a round, as C and as JSON write it.
fn argument(kind: CTypeName, round: usize, position: usize) -> (String, Value) {
    match kind {
        CTypeName::Float | CTypeName::Double => {
            let value = DOUBLES[(round + 5 * position) % DOUBLES.len()];
            // What a `float` cannot hold is an error for us and a rounding for C.
            let value = if kind == CTypeName::Float && value.is_finite() {
                f64::from(value.clamp(-1e30, 1e30) as f32)
            } else {
                value
            };
            match value {
                nan if nan.is_nan() => ("NAN".to_owned(), json!("NaN")),
                f64::INFINITY => ("INFINITY".to_owned(), json!("Infinity")),
                f64::NEG_INFINITY => ("-INFINITY".to_owned(), json!("-Infinity")),
                value => (format!("{value:e}"), serde_json::from_str(&format!("{value:e}")).unwrap()),
            }
        }
        _ => {
            let value = INTEGERS[(round + position) % INTEGERS.len()];
            (value.to_string(), json!(value))
        }
    }
}

/// The bits of a result, as the C caller prints them; all NaNs are one.
fn bits(kind: CTypeName, value: &Value) -> String {
    let number = match value {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    };
    match kind {
        CTypeName::Float | CTypeName::Double if number.is_nan() => "nan".to_owned(),
        CTypeName::Double => format!("{:016x}", number.to_bits()),
        // The text is the shortest of the `float`, not of the `double` of the same value.
        CTypeName::Float => format!("{:08x}", value.to_string().trim_matches('"').parse::<f32>().unwrap().to_bits()),
        _ => value.to_string(),
    }
}

fn is_number(kind: CTypeName) -> bool {
    matches!(kind, CTypeName::Double | CTypeName::Float | CTypeName::Int | CTypeName::Long | CTypeName::LongLong)
}

/// Whether a function takes numbers and gives numbers.
fn is_numeric(function: &DynFunction) -> bool {
    let parameters = function.parameters.iter().all(|parameter| {
        let (kind, pointer) = c_type(&parameter.schema);
        is_number(kind) && pointer != parameter.is_in
    });
    let returns = function.returns.as_ref().is_some_and(|returns| {
        let (kind, pointer) = c_type(&returns.schema);
        is_number(kind) && !pointer
    });
    parameters && returns && !function.parameters.is_empty()
}

/// A program that calls the functions and prints a line for every call.
fn caller(functions: &[&DynFunction]) -> String {
    let mut source = r#"#include <math.h>
#include <stdio.h>
#include <string.h>
static void put_double(double x) { unsigned long long b; memcpy(&b, &x, 8); if (isnan(x)) printf(" nan"); else printf(" %016llx", b); }
static void put_float(float x) { unsigned b; memcpy(&b, &x, 4); if (isnan(x)) printf(" nan"); else printf(" %08x", b); }
static void put_integer(long long x) { printf(" %lld", x); }
int main(void) {
"#
    .to_owned();
    let put = |kind: CTypeName| match kind {
        CTypeName::Double => "put_double",
        CTypeName::Float => "put_float",
        _ => "put_integer",
    };
    for function in functions {
        for round in 0..DOUBLES.len() {
            source.push_str("  { ");
            let mut names = Vec::new();
            for (position, parameter) in function.parameters.iter().enumerate() {
                let (kind, pointer) = c_type(&parameter.schema);
                let value = if pointer { "0".to_owned() } else { argument(kind, round, position).0 };
                write!(source, "volatile {kind} a{position} = {value}; ").unwrap();
                names.push(if pointer { format!("({kind} *) &a{position}") } else { format!("a{position}") });
            }
            let (kind, _) = c_type(&function.returns.as_ref().unwrap().schema);
            write!(
                source,
                "{kind} r = {}({}); printf(\"{} {round}\"); {}(r); ",
                function.name,
                names.join(", "),
                function.name,
                put(kind)
            )
            .unwrap();
            for (position, parameter) in function.parameters.iter().enumerate() {
                let (kind, pointer) = c_type(&parameter.schema);
                if pointer {
                    write!(source, "{}(a{position}); ", put(kind)).unwrap();
                }
            }
            source.push_str("puts(\"\"); }\n");
        }
    }
    source.push_str("  return 0;\n}\n");
    source
}

#[test]
#[cfg(target_os = "linux")]
fn the_functions_of_libm_answer_bit_for_bit_as_they_do_in_c() {
    let (document, libm) = describe("libm.so.6", "math.h");
    let functions: Vec<_> = document.functions.iter().filter(|function| is_numeric(function)).collect();
    assert!(functions.len() >= 100, "{}", functions.len());
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("caller.c"), folder.path().join("caller"));
    std::fs::write(&source, caller(&functions)).unwrap();
    let compiled =
        Command::new("cc").args(["-O0", "-fno-builtin", "-w", "-o"]).args([&program, &source]).arg("-lm").status();
    assert!(compiled.unwrap().success());
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success());
    let expected: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().map(str::to_owned).collect();

    let mut got = Vec::new();
    for function in &functions {
        for round in 0..DOUBLES.len() {
            let arguments: Map<String, Value> = function
                .parameters
                .iter()
                .enumerate()
                .filter(|(_, parameter)| parameter.is_in)
                .map(|(position, parameter)| {
                    (parameter.name.clone(), argument(c_type(&parameter.schema).0, round, position).1)
                })
                .collect();
            let result = call(&libm, &function.name, Value::Object(arguments));
            let returns = function.returns.as_ref().unwrap();
            let mut line =
                format!("{} {round} {}", function.name, bits(c_type(&returns.schema).0, &result[&returns.name]));
            for parameter in function.parameters.iter().filter(|parameter| !parameter.is_in) {
                write!(line, " {}", bits(c_type(&parameter.schema).0, &result[&parameter.name])).unwrap();
            }
            got.push(line);
        }
    }
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    assert_eq!(got.len(), expected.len());
}

#[test]
#[cfg(target_os = "linux")]
fn zlib_and_sqlite_work_as_they_are_described() {
    let (_, zlib) = describe("libz.so.1", "zlib.h");
    // "hello hello hello hello" in base 64.
    let source = "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8=";
    let packed = call(&zlib, "compress", json!({ "source": source, "destLen": 100 }));
    let back = call(&zlib, "uncompress", json!({ "source": packed["dest"], "destLen": 100 }));
    assert_eq!(back, json!({ "result": 0, "dest": source, "destLen": 23 }));

    let (_, sqlite) = describe("libsqlite3.so.0", "sqlite3.h");
    let db = call(&sqlite, "sqlite3_open", json!({ "filename": ":memory:" }))["ppDb"].clone();
    let prepared = call(&sqlite, "sqlite3_prepare_v2", json!({ "db": db, "zSql": "SELECT 6 * 7, 'text'" }));
    let statement = &prepared["ppStmt"];
    assert_eq!(call(&sqlite, "sqlite3_step", json!({ "sqlite3_stmt": statement })), json!({ "result": 100 }));
    let column = |of: &str, column: i32| call(&sqlite, of, json!({ "sqlite3_stmt": statement, "iCol": column }));
    assert_eq!(column("sqlite3_column_int", 0), json!({ "result": 42 }));
    assert_eq!(column("sqlite3_column_text", 1), json!({ "result": "text" }));
    call(&sqlite, "sqlite3_finalize", json!({ "pStmt": statement }));
    assert_eq!(call(&sqlite, "sqlite3_close", json!({ "sqlite3": db })), json!({ "result": 0 }));
}

#[test]
#[cfg(target_os = "linux")]
fn buffers_sizes_and_enumerations_work_as_described() {
    let header = r"#include <stddef.h>
#include <stdint.h>
typedef enum { NONE, ALL = 0xFFFFFFFF, FAR = 0x7FFFFFFF } mask;
typedef enum { NEAR, BEYOND = 0x100000000LL } wide;
void digest(const uint8_t *data, size_t length, uint8_t digest[4]);
void label(char name[8]);
size_t copy(char *into, const char *from, size_t size);
void invert(unsigned char *into, const unsigned char *from, size_t length);
mask same(mask m);
wide same_wide(wide w);
";
    let source = r#"#include "vendor.h"
#include <string.h>
void digest(const uint8_t *data, size_t length, uint8_t digest[4]) { memset(digest, 0, 4); for (size_t i = 0; i < length; i++) digest[1 + i % 3] ^= data[i]; }
void label(char name[8]) { strcpy(name, "station"); }
size_t copy(char *into, const char *from, size_t size) { size_t n = strlen(from); if (size) { size_t m = n < size - 1 ? n : size - 1; memcpy(into, from, m); into[m] = 0; } return n; }
void invert(unsigned char *into, const unsigned char *from, size_t length) { for (size_t i = 0; i < length; i++) into[i] = ~from[i]; }
mask same(mask m) { return m; }
wide same_wide(wide w) { return w; }
"#;
    let folder = tempfile::tempdir().unwrap();
    let (written, library) = (folder.path().join("vendor.c"), folder.path().join("libvendor.so"));
    std::fs::write(folder.path().join("vendor.h"), header).unwrap();
    std::fs::write(&written, source).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &written]).status();
    assert!(compiled.unwrap().success());
    let (_, vendor) = describe(library.to_str().unwrap(), folder.path().join("vendor.h").to_str().unwrap());
    // The bytes 1, 2, 3 in base 64, and a digest that begins with a NUL.
    assert_eq!(call(&vendor, "digest", json!({ "data": "AQID" })), json!({ "digest": "AAECAw==" }));
    assert_eq!(call(&vendor, "label", json!({})), json!({ "name": "station" }));
    assert_eq!(call(&vendor, "copy", json!({ "from": "hello", "size": 16 })), json!({ "result": 5, "into": "hello" }));
    assert_eq!(call(&vendor, "copy", json!({ "from": "hello", "size": 3 })), json!({ "result": 5, "into": "he" }));
    assert_eq!(call(&vendor, "invert", json!({ "from": "AQID" })), json!({ "into": "/v38" }));
    assert_eq!(call(&vendor, "same", json!({ "m": 4_294_967_295_u64 })), json!({ "result": 4_294_967_295_u64 }));
    assert_eq!(call(&vendor, "same_wide", json!({ "w": 4_294_967_296_u64 })), json!({ "result": 4_294_967_296_u64 }));
}

#[test]
fn a_returned_text_that_is_a_buffer_ends_where_that_ends() {
    let header = "
#include <stddef.h>
char *pad(char dst[], const char src[], size_t len);
";
    let source = "
char *pad(char dst[], const char src[], size_t len) {
    for (size_t at = 0; at < len; at++) dst[at] = *src ? *src++ : (at < 6 ? ' ' : 0);
    return dst;
}
";
    let vendor = super::Vendor::new(header, source);
    let library = super::lifetimes::opened(&vendor, &vendor.describe());
    let padded = call(&library, "pad", json!({ "src": "ab", "len": 8 }));
    assert_eq!(padded, json!({ "result": "ab    ", "dst": "ab    " }));
    let error = refused(&library, "pad", json!({ "src": "ab", "len": 4 }));
    assert!(error.contains("NUL"), "{error}");
}
