//! What checking arguments costs, beside what parsing them costs.
//!
//! `cargo bench -p opentool-core --bench check`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use opentool_core::check::{ArgumentChecker, Strictness};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[expect(dead_code, reason = "only parsed")]
struct Add {
    a: i64,
    b: i64,
}

const ADD: &str = r#"{"a":1,"b":2}"#;

fn checker(schema: &Value) -> Result<ArgumentChecker, Box<dyn std::error::Error>> {
    Ok(ArgumentChecker::compile(schema)?)
}

fn bench(criterion: &mut Criterion) -> Result<(), Box<dyn std::error::Error>> {
    let integer = json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX });
    let mut schema = json!({
        "type": "object",
        "properties": { "a": integer, "b": integer },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    let flat = checker(&schema)?;
    // A keyword that changes nothing and that only the validator knows.
    schema["minProperties"] = json!(0);
    let validated = checker(&schema)?;
    let stock = jsonschema::options().build(&schema)?;

    let mut group = criterion.benchmark_group("two integers");
    group.bench_function("parse into a struct", |b| {
        b.iter(|| serde_json::from_str::<Add>(black_box(ADD)));
    });
    group.bench_function("parse into a Value", |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(ADD)));
    });
    group.bench_function("parse into a Value and validate that", |b| {
        b.iter(|| serde_json::from_str(black_box(ADD)).is_ok_and(|value| stock.is_valid(&value)));
    });
    group.bench_function("check, streaming", |b| {
        b.iter(|| flat.check(black_box(ADD), Strictness::Lenient));
    });
    group.bench_function("check, by the validator", |b| {
        b.iter(|| validated.check(black_box(ADD), Strictness::Lenient));
    });
    group.bench_function("check, dropping an unknown argument", |b| {
        b.iter(|| flat.check(black_box(r#"{"a":1,"b":2,"c":3}"#), Strictness::Lenient));
    });
    group.bench_function("refuse and explain", |b| {
        b.iter(|| flat.check(black_box(r#"{"a":1,"b":"2"}"#), Strictness::Lenient));
    });
    group.finish();

    let nested = checker(&json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "maxLength": 1000 },
            "filter": { "$ref": "#/$defs/Filter" },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["query"],
        "additionalProperties": false,
        "$defs": {
            "Filter": {
                "type": "object",
                "properties": {
                    "since": { "type": "string", "format": "date" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                },
                "additionalProperties": false,
            },
        },
    }))?;
    let full = r#"{"query":"tool calling in Rust","filter":{"since":"2026-01-01","limit":20},"tags":["rust","ai"]}"#;
    let nulls = r#"{"query":"tool calling in Rust","filter":{"since":null,"limit":20},"tags":null}"#;
    let mut group = criterion.benchmark_group("a nested search");
    group.bench_function("parse into a Value", |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(full)));
    });
    group.bench_function("check", |b| b.iter(|| nested.check(black_box(full), Strictness::Lenient)));
    group.bench_function("check, dropping nulls", |b| {
        b.iter(|| nested.check(black_box(nulls), Strictness::Lenient));
    });
    group.finish();

    let text = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let text = checker(&text)?;
    let long = format!("{{\"text\":\"{}\"}}", "all work and no play ".repeat(5_000));
    let mut group = criterion.benchmark_group("a text of 100 kB");
    group.bench_function("parse into a Value", |b| {
        b.iter(|| serde_json::from_str::<Value>(black_box(&long)));
    });
    group.bench_function("check, streaming", |b| {
        b.iter(|| text.check(black_box(&long), Strictness::Lenient).is_ok());
    });
    group.finish();
    Ok(())
}

fn run(criterion: &mut Criterion) {
    if let Err(error) = bench(criterion) {
        eprintln!("{error}");
    }
}

criterion_group!(benches, run);
criterion_main!(benches);
