//! Mutated documents through the binary: no panic, no wrong exit code, and fixing twice is fixing once.
//!
//! `scripts/mutate` runs some thousands; `OPENTOOL_MUTATIONS` and `OPENTOOL_SEED` choose how many and which.

use std::{
    panic::catch_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use opentool_spec::{DocumentKind, check, fix};
use serde_json::{Value, json};

use super::*;

/// How many documents are mutated where the environment does not say it.
const FEW: u64 = 40;

#[test]
fn mutated_documents_are_answered_rightly_by_check_fix_and_convert() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (count, seed) = (number("OPENTOOL_MUTATIONS").unwrap_or(FEW), number("OPENTOOL_SEED").unwrap_or(1));
    let originals = originals();
    let next = AtomicUsize::new(0);
    let worker = || {
        let folder = TestFolder::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed) as u64;
            if index >= count {
                return;
            }
            let mut random =
                Random(seed.wrapping_mul(1_000_003).wrapping_add(index).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let original = &originals[random.below(originals.len())];
            let text = mutated(original, &mut random);
            let judged = catch_unwind(|| judge(&folder, &text, index));
            if judged.is_err() {
                panic!("mutation {index} of seed {seed}:\n{text}");
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
}

/// What every command must make of a text, by what the library finds in it.
fn judge(folder: &TestFolder, text: &str, index: u64) {
    folder.put("a.json", text);
    let report = check(text);
    let errors = i32::from(!report.is_usable());
    // What keeps a C function from being called is found beside the rules of documents.
    let is_callable = report.kind != Some(DocumentKind::OpenDyn) || opentool_dyn::document_faults(text).is_empty();
    let checked = folder.run(&["check", "a.json"]);
    assert_eq!(checked.code, Some(errors.max(i32::from(!is_callable))), "check: {}", checked.stderr);

    let fixed = fix(text);
    assert_eq!(fix(&fixed.text).text, fixed.text, "fixing twice is fixing once");
    let left = i32::from(!fixed.report.is_usable());
    let ran = folder.run(&["fix", "a.json", "-o", "-"]);
    assert_eq!(ran.code, Some(left), "fix: {}", ran.stderr);
    if report.foreign.is_none() {
        assert_eq!(ran.stdout, fixed.text, "the binary fixes as the library does");
    }

    // What passes loads; a provider may refuse a name, and says so.
    assert_eq!(loads::loads(text), Ok(()));
    let targets = ["json-schema", "openai", "openai-strict", "anthropic", "gemini", "ollama", "mcp", "opentool"];
    let target = targets[usize::try_from(index).unwrap() % targets.len()];
    let ran = folder.run(&["convert", "a.json", "--to", target]);
    let refused = ran.code == Some(1)
        && (ran.stderr.contains("takes only names") || report.kind == Some(DocumentKind::OpenWorkflow));
    assert!(ran.code == Some(errors) || refused, "convert --to {target}: {:?} {}", ran.code, ran.stderr);
    assert!(!ran.stderr.contains(" 0 errors"), "{}", ran.stderr);
    if index.is_multiple_of(10) && errors == 0 && report.kind == Some(DocumentKind::OpenTool) {
        let ran = folder.run(&["tools", "a.json"]);
        assert_eq!(ran.code, Some(0), "tools: {}", ran.stderr);
    }
}

/// The documents of the repository, and older ones.
fn originals() -> Vec<String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    let mut originals: Vec<_> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let older = [
        json!({"type": "object", "properties": {"a": {"type": "int", "required": true}, "b": {"type": "object", "properties": {"c": {"type": "string", "required": true}}}}, "required": ["a"]}),
        json!({"a": {"schema": {"type": "string", "pattern": "^a"}, "required": true}, "b": {"schema": {"type": "object", "properties": {"c": {"schema": {"type": "bool"}, "required": true}}}}}),
        json!({"name": "light", "description": "on or off", "type": "boolean", "required": true}),
        json!([{"name": "a", "schema": {"$ref": "#/schemas/A", "enum": ["x"]}, "required": true}, {"name": "b", "schema": {"type": ["string", "null"], "anyOf": [{"minLength": 1}], "default": null}, "required": false}]),
    ];
    for parameters in older {
        let document = json!({
            "opentool": "1.0.0",
            "info": {"title": "T", "version": "1"},
            "server": {"url": "http://127.0.0.1:9627/opentool"},
            "functions": [{"name": "f", "description": "F.", "parameters": parameters, "returns": {"r": {"schema": {"type": "string"}}}}],
            "schemas": {"A": {"type": "string", "enum": ["x", "y"]}},
        });
        originals.push(serde_json::to_string_pretty(&document).unwrap());
    }
    originals
}

fn mutated(original: &str, random: &mut Random) -> String {
    let mut text = original.to_owned();
    for _ in 0..=random.below(3) {
        text = match serde_json::from_str::<Value>(&text) {
            Ok(mut value) if random.below(4) > 0 => {
                mutate_value(&mut value, random);
                if random.below(2) == 0 { value.to_string() } else { serde_json::to_string_pretty(&value).unwrap() }
            }
            _ => mutate_text(&text, random),
        };
    }
    text
}

/// Changes one member or element, chosen at random.
fn mutate_value(value: &mut Value, random: &mut Random) {
    const KEYS: [&str; 14] = [
        "type",
        "enum",
        "pattern",
        "$ref",
        "required",
        "schema",
        "name",
        "properties",
        "items",
        "minLength",
        "anyOf",
        "cType",
        "x-handle",
        "default",
    ];
    let mut here = value;
    // Down a random path, so that every depth has its turn.
    loop {
        let length = match &*here {
            Value::Object(map) => map.len(),
            Value::Array(list) => list.len(),
            _ => 0,
        };
        if length == 0 || random.below(5) == 0 {
            break;
        }
        let index = random.below(length);
        here = match here {
            Value::Object(map) => map.values_mut().nth(index).unwrap(),
            Value::Array(list) => &mut list[index],
            _ => break,
        };
    }
    let other = other_value(random);
    match here {
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).unwrap().clone();
            match random.below(4) {
                0 => drop(map.shift_remove(&key)),
                1 => drop(map.insert(KEYS[random.below(KEYS.len())].to_owned(), other)),
                2 => {
                    let value = map.shift_remove(&key).unwrap();
                    map.insert(key.chars().rev().collect(), value);
                }
                _ => drop(map.insert(key, other)),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let index = random.below(list.len());
            match random.below(3) {
                0 => drop(list.remove(index)),
                1 => list.push(list[index].clone()),
                _ => list[index] = other,
            }
        }
        here => *here = other,
    }
}

fn other_value(random: &mut Random) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("string"),
        json!("int"),
        json!("("),
        json!("#/schemas/A"),
        json!([]),
        json!({}),
        json!(["a", "a"]),
        json!([1, null]),
        json!({"type": "string"}),
        json!({"schema": {"type": "int"}, "required": true}),
        json!({"$ref": "#/schemas/Nothing"}),
        json!([{"type": "string"}]),
        json!("1.x"),
        json!("http://x y"),
        json!(1e300),
        json!("ü\u{202e}\u{0}"),
    ];
    values[random.below(values.len())].clone()
}

/// Changes a few bytes.
fn mutate_text(text: &str, random: &mut Random) -> String {
    const PIECES: [&str; 16] =
        [",", "}", "]", "\"", "//c\n", "/*", "\\", "e9", "\u{0}", "ü", "{", "[", ":", "'", "True", "\t"];
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let mut end = (at + random.below(12)).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = end.max(at);
    match random.below(4) {
        0 => format!("{}{}", &text[..at], &text[end..]),
        1 => format!("{}{}{}", &text[..end], &text[at..end], &text[end..]),
        2 => text[..at].to_owned(),
        _ => format!("{}{}{}", &text[..at], PIECES[random.below(PIECES.len())], &text[at..]),
    }
}

/// A small generator of numbers: the same seed gives the same mutations everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}
