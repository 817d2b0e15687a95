//! The documents in `examples/`, on the libraries of the system, in a worker process and in this one.

use std::path::{Path, PathBuf};

use opentool_core::ErrorKind;
use opentool_dyn::{DynLibrary, Isolation};
use serde_json::{Value, json};

use crate::harness::{call, call_text, refused};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(format!("{name}.opendyn.json"))
}

/// The tools of an example, wherever they run.
fn everywhere(name: &str, library: &str) -> [DynLibrary; 2] {
    let open = |isolation| {
        let builder = DynLibrary::builder().document(example(name)).library(library).isolation(isolation);
        let opened = builder.worker(env!("CARGO_BIN_EXE_opentool-dyn-worker")).open().unwrap();
        assert_eq!(opened.disabled().collect::<Vec<_>>(), []);
        opened
    };
    [open(Isolation::Process), open(Isolation::None)]
}

#[test]
fn libm_calculates() {
    for math in everywhere("libm", "libm.so.6") {
        assert_eq!(call(&math, "cos", json!({ "x": 0 })), json!({ "cosine": 1.0 }));
        assert_eq!(call(&math, "pow", json!({ "exponent": 10, "base": 2 })), json!({ "power": 1024.0 }));
        assert_eq!(call(&math, "frexp", json!({ "x": 10 })), json!({ "fraction": 0.625, "exponent": 4 }));
        assert_eq!(call(&math, "lround", json!({ "x": -2.5 })), json!({ "rounded": -3 }));
    }
}

#[test]
fn zlib_gives_back_what_it_compressed() {
    let text = "a text with many, many, many words, and an é: ".repeat(100);
    for zlib in everywhere("zlib", "libz.so.1") {
        let bound = call(&zlib, "compressBound", json!({ "length": text.len() }));
        let compressed = call(&zlib, "compress", json!({ "text": text, "size": bound["size"] }));
        let size = compressed["size"].as_u64().unwrap();
        assert!(size > 0 && size < 200, "{compressed}");
        let bytes = &compressed["compressed"];
        let back = call(&zlib, "uncompress", json!({ "compressed": bytes, "size": text.len() }));
        assert_eq!(back, json!({ "code": 0, "text": text, "size": text.len() }));
        // The sum that every implementation gives.
        let checksum = call(&zlib, "crc32", json!({ "before": 0, "text": "123456789" }));
        assert_eq!(checksum, json!({ "checksum": 0xcbf4_3926_u32 }));
        let small = refused(&zlib, "uncompress", &json!({ "compressed": bytes, "size": 10 }).to_string());
        assert_eq!((small.kind(), small.code()), (ErrorKind::Failed, Some(-5)), "{small}");
        assert!(small.message().contains("more bytes than its size allows"), "{small}");
        let damaged = refused(&zlib, "uncompress", r#"{"compressed": "AAAA", "size": 10}"#);
        assert_eq!(damaged.code(), Some(-3), "{damaged}");
        assert!(call_text(&zlib, "zlibVersion", "{}").unwrap().starts_with(r#"{"version":"1."#));
    }
}

#[test]
fn sqlite_answers_queries_through_handles() {
    for sqlite in everywhere("sqlite", "libsqlite3.so.0") {
        let opened = call(&sqlite, "sqlite3_open", json!({ "filename": ":memory:" }));
        let db = &opened["db"];
        let sql = "CREATE TABLE plants (name TEXT, height REAL, leaves INTEGER); INSERT INTO plants VALUES ('Efeu', 2.5, 9007199254740993), ('Moos', 0.02, 7)";
        call(&sqlite, "sqlite3_exec", json!({ "db": db, "sql": sql }));
        assert_eq!(call(&sqlite, "sqlite3_changes", json!({ "db": db })), json!({ "rows": 2 }));

        let sql = "SELECT name, height, leaves FROM plants WHERE height > ? ORDER BY name";
        let statement = call(&sqlite, "sqlite3_prepare_v2", json!({ "db": db, "sql": sql }))["statement"].clone();
        call(&sqlite, "sqlite3_bind_double", json!({ "statement": statement, "index": 1, "value": 0.01 }));
        let column = |of: &str, column: i32| call(&sqlite, of, json!({ "statement": statement, "column": column }));
        assert_eq!(call(&sqlite, "sqlite3_step", json!({ "statement": statement })), json!({ "code": 100 }));
        assert_eq!(column("sqlite3_column_name", 0), json!({ "name": "name" }));
        assert_eq!(column("sqlite3_column_text", 0), json!({ "value": "Efeu" }));
        assert_eq!(column("sqlite3_column_double", 1), json!({ "value": 2.5 }));
        assert_eq!(column("sqlite3_column_int64", 2), json!({ "value": 9_007_199_254_740_993_i64 }));
        assert_eq!(call(&sqlite, "sqlite3_step", json!({ "statement": statement })), json!({ "code": 100 }));
        assert_eq!(column("sqlite3_column_text", 0), json!({ "value": "Moos" }));
        assert_eq!(call(&sqlite, "sqlite3_step", json!({ "statement": statement })), json!({ "code": 101 }));

        // A database with an open statement cannot be closed, and remains open.
        let busy = refused(&sqlite, "sqlite3_close", &json!({ "db": db }).to_string());
        assert_eq!(busy.code(), Some(5), "{busy}");
        call(&sqlite, "sqlite3_finalize", json!({ "statement": statement }));
        let stale = refused(&sqlite, "sqlite3_step", &json!({ "statement": statement }).to_string());
        assert_eq!(stale.kind(), ErrorKind::InvalidArguments, "{stale}");

        let wrong = json!({ "db": db, "sql": "SELEC 1" });
        let wrong = refused(&sqlite, "sqlite3_prepare_v2", &wrong.to_string());
        assert!(wrong.message().contains("The SQL is wrong"), "{wrong}");
        let message = call(&sqlite, "sqlite3_errmsg", json!({ "db": db }));
        assert_eq!(message, json!({ "message": "near \"SELEC\": syntax error" }));
        assert_eq!(call(&sqlite, "sqlite3_close", json!({ "db": db })), json!({ "code": 0 }));
        // What is always NULL takes nothing else, least of all a database.
        let forged: Value = json!({ "db": db, "sql": "SELECT 1", "rest": db });
        assert_eq!(refused(&sqlite, "sqlite3_prepare_v2", &forged.to_string()).kind(), ErrorKind::InvalidArguments);
    }
}
