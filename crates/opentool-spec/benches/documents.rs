//! The cost of reading a document, compared with a bare parse of the same text, and that it is linear.
//!
//! The workloads are measured in turns in one run, so that the ratios hold on a noisy machine.
#![allow(clippy::expect_used, missing_docs)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use opentool_spec::{OpenTool, check};
use serde_json::{Value, json};

/// A document of functions as people write them: a few parameters, some nested, some by reference.
fn document(functions: usize) -> String {
    let functions: Vec<_> = (0..functions)
        .map(|index| {
            json!({
                "name": format!("update_customer_{index}"),
                "description": "Update the record of a customer. Fields that are not given keep their value; the record is returned as it is afterwards.",
                "parameters": [
                    {"name": "id", "description": "The number of the customer.", "schema": {"type": "integer"}, "required": true},
                    {"name": "name", "description": "The full name.", "schema": {"type": "string"}, "required": false},
                    {"name": "status", "schema": {"type": "string", "enum": ["active", "suspended", "closed"]}, "required": false},
                    {"name": "address", "schema": {"$ref": format!("#/schemas/Address{}", index % 50)}, "required": false},
                    {"name": "tags", "schema": {"type": "array", "items": {"type": "string"}}, "required": false},
                ],
                "return": {"name": "customer", "schema": {"type": "object", "properties": {
                    "id": {"type": "integer"}, "name": {"type": "string"}, "active": {"type": "boolean"},
                }, "required": ["id"]}},
            })
        })
        .collect();
    let schemas: serde_json::Map<_, _> = (0..50)
        .map(|index| {
            let schema = json!({"type": "object", "properties": {
                "street": {"type": "string"}, "city": {"type": "string"}, "lines": {"type": "array", "items": {"type": "string"}},
            }, "required": ["street", "city"]});
            (format!("Address{index}"), schema)
        })
        .collect();
    let document = json!({
        "opentool": "1.1.0",
        "info": {"title": "Customers", "version": "1.0.0"},
        "functions": functions,
        "schemas": schemas,
    });
    serde_json::to_string(&document).expect("a value is JSON")
}

fn bare(text: &str) -> Value {
    serde_json::from_str(text).expect("the document is JSON")
}

/// Parse, diagnose, resolve every reference, and build the typed document.
fn read(text: &str) -> OpenTool {
    text.parse().expect("the document is right")
}

/// The median times of several workloads, measured in turns.
fn in_turns<const N: usize>(rounds: usize, work: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for (work, times) in work.iter().zip(&mut times) {
            let start = Instant::now();
            work();
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

fn ratios(_: &mut Criterion) {
    let text = document(1_000);
    println!("\n1,000 functions, {} kB, medians of 101 rounds in turns:", text.len() / 1000);
    let [value, checked, typed] = in_turns(
        101,
        [&|| drop(black_box(bare(black_box(&text)))), &|| drop(black_box(check(black_box(&text)))), &|| {
            drop(black_box(read(black_box(&text))))
        }],
    );
    let ratio = |time: Duration| time.as_secs_f64() / value.as_secs_f64();
    println!("  serde_json::Value           {value:>10.2?}   1.00");
    println!("  parse + diagnose + resolve  {checked:>10.2?}   {:.2}   (at most 1.50)", ratio(checked));
    println!("  … and the typed document    {typed:>10.2?}   {:.2}   (at most 1.50)", ratio(typed));

    println!("growth, per function:");
    for functions in [1_000, 5_000, 10_000, 50_000] {
        let text = document(functions);
        let [value, typed] =
            in_turns(5, [&|| drop(black_box(bare(black_box(&text)))), &|| drop(black_box(read(black_box(&text))))]);
        println!(
            "  {functions:>6} functions   {:>8.2?} each   {:.2} times a bare parse",
            typed / functions as u32,
            typed.as_secs_f64() / value.as_secs_f64()
        );
    }
}

fn documents(criterion: &mut Criterion) {
    let text = document(1_000);
    let mut group = criterion.benchmark_group("1000-functions");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(30);
    group.bench_function("serde_json_value", |bencher| bencher.iter(|| bare(black_box(&text))));
    group.bench_function("check", |bencher| bencher.iter(|| check(black_box(&text))));
    group.bench_function("read", |bencher| bencher.iter(|| read(black_box(&text))));
    let document = read(&text);
    group.bench_function("to_strict", |bencher| {
        bencher.iter_batched(|| (), |()| black_box(&document).to_strict(), BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, ratios, documents);
criterion_main!(benches);
