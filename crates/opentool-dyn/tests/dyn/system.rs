//! Libraries of the system that need streams, unions, callbacks and lifetimes, where they are there.

use std::path::Path;

use opentool_dyn::{DynLibrary, Isolation, document_faults, find_library};
use serde_json::{Value, json};

use crate::harness::{call, document, function, gives, may_take, refused, returns, schema, takes, with};

/// The library in this process and in a worker; nothing where the system does not have it.
fn everywhere(library: &str, functions: Vec<Value>) -> Vec<DynLibrary> {
    if find_library(Path::new(library)).is_err() {
        println!("{library} is not there: nothing is tested");
        return Vec::new();
    }
    let text = document(functions).to_string();
    assert!(opentool_spec::check(&text).findings.is_empty(), "{:?}", opentool_spec::check(&text).findings);
    assert_eq!(document_faults(&text), []);
    let open = |isolation| {
        let builder = DynLibrary::builder().document_text(text.clone()).library(library).isolation(isolation);
        let opened = builder.worker(env!("CARGO_BIN_EXE_opentool-dyn-worker")).open().unwrap();
        assert_eq!(opened.disabled().collect::<Vec<_>>(), []);
        opened
    };
    vec![open(Isolation::None), open(Isolation::Process)]
}

fn handle(parameter: Value, kind: &str) -> Value {
    with(parameter, json!({ "x-handle": kind }))
}

fn pointer(name: &str, kind: &str) -> Value {
    handle(takes(name, "string", "void *"), kind)
}

fn closes(name: &str, kind: &str) -> Value {
    with(pointer(name, kind), json!({ "x-closes": true }))
}

fn code() -> Value {
    returns("code", "integer", "int")
}

fn stream_functions(prefix: &str, kind: &str, with_level: bool) -> Vec<Value> {
    let mut parameters = vec![with(handle(gives("stream", "string", "void *"), kind), json!({ "x-allocate": 112 }))];
    if with_level {
        parameters.push(takes("level", "integer", "int"));
    }
    parameters.extend([takes("version", "string", "char *"), takes("stream_size", "integer", "int")]);
    let field = |parameter: Value, name: &str, offset: usize, keys: Value| {
        let of = json!({ "x-field": format!("stream.{name}"), "x-offset": offset });
        with(with(parameter, of), keys)
    };
    let counted = |offset: usize| json!({ "x-encoding": "base64", "x-lengthField": { "offset": offset, "cType": "unsigned int" } });
    let flush = json!({ "x-values": { "Z_NO_FLUSH": 0, "Z_FINISH": 4 } });
    vec![
        with(function(&format!("{prefix}Init_"), parameters, code()), json!({ "x-returnsCode": true })),
        with(
            function(
                prefix,
                vec![
                    pointer("stream", kind),
                    with(takes("flush", "integer", "int"), flush),
                    field(may_take("input", "string", "unsigned char *"), "next_in", 0, counted(8)),
                    field(
                        gives("output", "string", "unsigned char *"),
                        "next_out",
                        24,
                        with(counted(32), json!({ "x-size": 64 })),
                    ),
                    field(gives("unread", "integer", "unsigned int"), "avail_in", 8, json!({})),
                    field(gives("message", "string", "char *"), "msg", 48, json!({})),
                ],
                code(),
            ),
            json!({ "x-returnsCode": [0, 1, -5] }),
        ),
        with(function(&format!("{prefix}End"), vec![closes("stream", kind)], code()), json!({ "x-returnsCode": true })),
    ]
}

/// Runs bytes in base64 through a stream, in as many calls as its small output needs.
fn pump(library: &DynLibrary, name: &str, stream: &Value, input: &str) -> String {
    let mut input = json!(input);
    let mut out = Vec::new();
    for _ in 0..1000 {
        let step = call(library, name, json!({ "stream": stream, "flush": "Z_FINISH", "input": input }));
        out.extend(unbase64(step["output"].as_str().unwrap()));
        if step["code"] == 1 {
            return base64(&out);
        }
        // What was not read is given again.
        let bytes = unbase64(input.as_str().unwrap());
        let unread = usize::try_from(step["unread"].as_u64().unwrap()).unwrap();
        input = json!(base64(&bytes[bytes.len() - unread..]));
    }
    panic!("`{name}` does not end");
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let sextet = word >> (18 - 6 * digit) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[sextet as usize]) } else { '=' });
        }
    }
    text
}

fn unbase64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let digits: Vec<u32> = chunk
            .iter()
            .filter_map(|digit| DIGITS.iter().position(|known| known == digit))
            .map(|at| at as u32)
            .collect();
        let word = digits.iter().fold(0_u32, |word, digit| word << 6 | digit) << (6 * (4 - digits.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..digits.len()]);
    }
    bytes
}

#[test]
fn zlib_streams_deflate_and_inflate_piece_by_piece() {
    let mut functions = stream_functions("deflate", "deflating", true);
    functions.extend(stream_functions("inflate", "inflating", false));
    functions.push(function("zlibVersion", vec![], returns("version", "string", "char *")));
    for zlib in &everywhere("libz.so.1", functions) {
        let version = call(zlib, "zlibVersion", json!({}))["version"].clone();
        let text: String = (0..3000).map(|number| format!("{number} ")).collect();
        let open = |name: &str, level: Value| {
            let mut arguments = json!({ "version": version, "stream_size": 112 });
            if level.is_number() {
                arguments["level"] = level;
            }
            call(zlib, name, arguments)["stream"].clone()
        };
        let deflating = open("deflateInit_", json!(9));
        let deflated = pump(zlib, "deflate", &deflating, &base64(text.as_bytes()));
        assert!(deflated.len() < text.len() && deflated.starts_with("eN"), "a zlib header");
        let inflating = open("inflateInit_", Value::Null);
        assert_eq!(unbase64(&pump(zlib, "inflate", &inflating, &deflated)), text.as_bytes());
        call(zlib, "deflateEnd", json!({ "stream": deflating }));
        call(zlib, "inflateEnd", json!({ "stream": inflating }));
        let wrong = open("inflateInit_", Value::Null);
        let error = refused(zlib, "inflate", &json!({ "stream": wrong, "flush": 0, "input": "AAAA" }).to_string());
        assert_eq!(error.data().unwrap()["result"]["message"], "incorrect header check");
        let error =
            refused(zlib, "deflateInit_", &json!({ "level": 1, "version": version, "stream_size": 111 }).to_string());
        assert_eq!(error.code(), Some(-6));
    }
}

#[test]
fn libyaml_parses_from_memory_that_is_kept() {
    let field = |parameter: Value, of: &str, offset: usize, keys: Value| {
        with(with(parameter, json!({ "x-field": of, "x-offset": offset })), keys)
    };
    let when = json!({ "x-when": { "parameter": "type", "in": [6] } });
    let functions = vec![
        with(
            function(
                "yaml_parser_initialize",
                vec![with(handle(gives("parser", "string", "void *"), "yaml_parser_t"), json!({ "x-allocate": 480 }))],
                code(),
            ),
            json!({ "x-returnsCode": [1] }),
        ),
        function(
            "yaml_parser_set_input_string",
            vec![
                pointer("parser", "yaml_parser_t"),
                with(
                    takes("input", "string", "unsigned char *"),
                    json!({ "x-lengthParam": "size", "x-keep": "parser" }),
                ),
                takes("size", "integer", "unsigned long"),
            ],
            Value::Null,
        ),
        with(
            function(
                "yaml_parser_parse",
                vec![
                    pointer("parser", "yaml_parser_t"),
                    with(handle(gives("event", "string", "void *"), "yaml_event_t"), json!({ "x-allocate": 104 })),
                    field(gives("type", "integer", "int"), "event.type", 0, json!({})),
                    field(gives("value", "string", "char *"), "event.data.scalar.value", 24, when.clone()),
                    field(gives("length", "integer", "unsigned long"), "event.data.scalar.length", 32, when),
                    field(gives("problem", "string", "char *"), "parser.problem", 8, json!({})),
                ],
                code(),
            ),
            json!({ "x-returnsCode": [1] }),
        ),
        function("yaml_event_delete", vec![closes("event", "yaml_event_t")], Value::Null),
        function("yaml_parser_delete", vec![closes("parser", "yaml_parser_t")], Value::Null),
    ];
    for yaml in &everywhere("libyaml-0.so.2", functions) {
        let parse = |text: &str| {
            let parser = call(yaml, "yaml_parser_initialize", json!({}))["parser"].clone();
            call(yaml, "yaml_parser_set_input_string", json!({ "parser": parser, "input": text }));
            (parser, ())
        };
        let (parser, ()) = parse("name: Åse\nwords: [one, 'two words']\n");
        let (mut scalars, mut last) = (Vec::new(), 0);
        while last != 2 {
            let event = call(yaml, "yaml_parser_parse", json!({ "parser": parser }));
            last = event["type"].as_i64().unwrap();
            if let Some(text) = event["value"].as_str() {
                assert_eq!(event["length"], text.len());
                scalars.push(text.to_owned());
            }
            call(yaml, "yaml_event_delete", json!({ "event": event["event"] }));
        }
        assert_eq!(scalars, ["name", "Åse", "words", "one", "two words"]);
        call(yaml, "yaml_parser_delete", json!({ "parser": parser }));
        let (parser, ()) = parse("a: [");
        let error = (0..9).find_map(|_| {
            let arguments = json!({ "parser": parser }).to_string();
            crate::harness::call_text(yaml, "yaml_parser_parse", &arguments).err()
        });
        let problem = error.unwrap().data().unwrap()["result"]["problem"].clone();
        assert_eq!(problem, "did not find expected node content");
    }
}

#[test]
fn expat_reports_elements_through_callbacks() {
    let c = |c: &str| schema("string", c)["cType"].clone();
    let handler = |name: &str, attributes: bool| {
        let mut parameters =
            vec![json!({ "name": "data", "cType": c("void *") }), json!({ "name": "name", "cType": c("char *") })];
        if attributes {
            parameters.push(json!({ "name": "attributes", "cType": c("char *"), "texts": true }));
        }
        json!({
            "name": name, "schema": schema("array", "void *"), "isIn": false, "required": false,
            "x-callback": { "parameters": parameters, "userData": 0 }, "x-keep": "parser",
        })
    };
    let events = json!({ "name": "events", "schema": schema("array", "void *"), "isIn": false, "required": false, "x-events": "parser" });
    let functions = vec![
        function(
            "XML_ParserCreate",
            vec![may_take("encoding", "string", "char *")],
            handle(returns("parser", "string", "void *"), "XML_Parser"),
        ),
        function(
            "XML_SetElementHandler",
            vec![pointer("parser", "XML_Parser"), handler("start", true), handler("end", false)],
            Value::Null,
        ),
        with(
            function(
                "XML_Parse",
                vec![
                    pointer("parser", "XML_Parser"),
                    with(takes("text", "string", "char *"), json!({ "x-lengthParam": "length" })),
                    takes("length", "integer", "int"),
                    takes("is_final", "boolean", "int"),
                    events,
                ],
                code(),
            ),
            json!({ "x-returnsCode": [1] }),
        ),
        function("XML_ParserFree", vec![closes("parser", "XML_Parser")], Value::Null),
    ];
    for expat in &everywhere("libexpat.so.1", functions) {
        let parser = call(expat, "XML_ParserCreate", json!({}))["parser"].clone();
        call(expat, "XML_SetElementHandler", json!({ "parser": parser }));
        let parse = |text: &str, is_final: bool| {
            call(expat, "XML_Parse", json!({ "parser": parser, "text": text, "is_final": is_final }))["events"].clone()
        };
        assert_eq!(
            parse("<a x='1' y='é'><b/>", false),
            json!([
                { "callback": "start", "name": "a", "attributes": ["x", "1", "y", "é"] },
                { "callback": "start", "name": "b", "attributes": [] },
                { "callback": "end", "name": "b" },
            ])
        );
        assert_eq!(parse("</a>", true), json!([{ "callback": "end", "name": "a" }]));
        call(expat, "XML_ParserFree", json!({ "parser": parser }));
    }
}

#[test]
fn sqlite_gives_its_rows_through_a_callback() {
    let c = |c: &str| schema("string", c)["cType"].clone();
    let texts = |name: &str| json!({ "name": name, "cType": c("char *"), "texts": true, "lengthParam": "columns" });
    let rows = json!({
        "name": "rows", "schema": schema("array", "void *"), "isIn": false, "required": false,
        "x-callback": {
            "parameters": [
                { "name": "data", "cType": c("void *") },
                { "name": "columns", "cType": c("int") },
                texts("values"),
                texts("names"),
            ],
            "userData": 0, "returns": 0, "max": 10,
        },
    });
    let functions = vec![
        with(
            function(
                "sqlite3_open",
                vec![takes("filename", "string", "char *"), handle(gives("db", "string", "void *"), "sqlite3")],
                code(),
            ),
            json!({ "x-returnsCode": true }),
        ),
        with(
            function(
                "sqlite3_exec",
                vec![
                    pointer("db", "sqlite3"),
                    takes("sql", "string", "char *"),
                    rows,
                    with(takes("data", "string", "void *"), json!({ "x-userData": true })),
                    with(gives("error", "string", "char *"), json!({ "x-indirect": true, "x-free": "sqlite3_free" })),
                ],
                code(),
            ),
            json!({ "x-returnsCode": true }),
        ),
        with(
            function(
                "sqlite3_prepare_v2",
                vec![
                    pointer("db", "sqlite3"),
                    takes("sql", "string", "char *"),
                    takes("length", "integer", "int"),
                    with(
                        handle(gives("statement", "string", "void *"), "sqlite3_stmt"),
                        json!({ "x-parent": "db", "x-close": "sqlite3_finalize" }),
                    ),
                    with(may_take("tail", "string", "void *"), json!({ "x-userData": true })),
                ],
                code(),
            ),
            json!({ "x-returnsCode": true }),
        ),
        function("sqlite3_step", vec![pointer("statement", "sqlite3_stmt")], code()),
        with(function("sqlite3_close", vec![closes("db", "sqlite3")], code()), json!({ "x-returnsCode": true })),
    ];
    for sqlite in &everywhere("libsqlite3.so.0", functions) {
        let db = call(sqlite, "sqlite3_open", json!({ "filename": ":memory:" }))["db"].clone();
        let run = |sql: &str| call(sqlite, "sqlite3_exec", json!({ "db": db, "sql": sql }))["rows"].clone();
        assert_eq!(run("create table t (a, b); insert into t values (1, 'é'), (2, null)"), json!([]));
        assert_eq!(
            run("select a, b from t order by a"),
            json!([
                { "columns": 2, "values": ["1", "é"], "names": ["a", "b"] },
                { "columns": 2, "values": ["2", null], "names": ["a", "b"] },
            ])
        );
        let failed = refused(sqlite, "sqlite3_exec", &json!({ "db": db, "sql": "selec" }).to_string());
        assert_eq!(failed.data().unwrap()["result"]["error"], "near \"selec\": syntax error");
        let many = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 11) select x from c";
        let error = refused(sqlite, "sqlite3_exec", &json!({ "db": db, "sql": many }).to_string());
        assert!(error.message().contains("`rows` was called more than 10 times"), "{error}");
        let prepare = json!({ "db": db, "sql": "select 1", "length": -1 });
        let statement = call(sqlite, "sqlite3_prepare_v2", prepare)["statement"].clone();
        assert_eq!(call(sqlite, "sqlite3_step", json!({ "statement": statement })), json!({ "code": 100 }));
        // SQLite refuses to close a database with statements: they are finalized first.
        assert_eq!(call(sqlite, "sqlite3_close", json!({ "db": db })), json!({ "code": 0 }));
        let stale = refused(sqlite, "sqlite3_step", &json!({ "statement": statement }).to_string());
        assert!(stale.message().contains("that is open"), "{stale}");
    }
}
