//! What ends handles, what they belong to, what is kept, and callbacks.

use super::*;

const HEADER: &str = "
#include <stddef.h>
typedef struct session session; typedef struct request request; typedef void FILEISH;
session *session_new(void);
request *session_request(session *of, const char *path);
request *request_copy(request *of);
void freeRequest(request *which);
void session_free(session *which);
void session_release_memory(session *which);
int session_remove(session **which);
int session_destroy(session **which);
/* The dictionary must remain valid while the session is used. */
int session_dictionary(session *which, const unsigned char *dictionary, size_t length);
int session_bind(session *which, const char *text, size_t length, void (*done)(void *));
int session_set_output(session *which, unsigned char *output, size_t size);
int each(session *which, int (*row)(void *data, int number, const char *text), void *data);
void session_set_handler(session *which, void (*handler)(void *data, const char *text, int len));
int session_parse(session *which, const char *text);
session *session_with(void *(*alloc)(size_t), void (*release)(void *), void *opaque);
/* Ends a file. @return 0 on success */
int file_end(FILEISH *file);
/* Starts a request. @returns 1 if the function succeeded, 0 on error. */
int request_start(session *of, request **made);

FILEISH *file_open(const char *path);
int file_write(FILEISH *file, void *buf, int len);
int file_read(FILEISH *file, void *buf, int len);
void file_close(FILEISH *file);
char *upper(char *text);
";

fn described() -> Description {
    let vendor = Vendor { folder: tempfile::tempdir().unwrap() };
    vendor.write("vendor.h", HEADER);
    let names = HEADER.lines().filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    let source: String = names.map(|name| format!("int {name}(void) {{ return 0; }}\n")).collect();
    let (source, library) = (vendor.write("vendor.c", &source), vendor.path("libvendor.so"));
    assert!(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([library, source]).status().unwrap().success());
    vendor.describe()
}

#[test]
fn destructors_are_known_by_name_and_shape() {
    let described = described();
    let closes = |name: &str| {
        let function = function(&described, name);
        function.parameters.iter().any(|parameter| parameter.extra.contains_key("x-closes"))
    };
    for name in ["freeRequest", "session_free", "file_close"] {
        assert!(closes(name), "{name}");
    }
    for name in ["session_release_memory", "session_parse", "file_write"] {
        assert!(!closes(name), "{name}");
    }
    assert_eq!(
        skipped(&described, "session_destroy").reason,
        "takes `session **which`, the address of a handle, which it ends"
    );
}

#[test]
fn comments_say_what_success_is() {
    let described = described();
    let code = |name: &str| function(&described, name).extra.get("x-returnsCode").cloned();
    assert_eq!(code("file_end"), Some(json!(true)));
    assert_eq!(code("request_start"), Some(json!([1])));
    assert!(!function(&described, "request_start").extra.contains_key("x-review"));
}

#[test]
fn what_comes_out_of_a_handle_belongs_to_it() {
    let described = described();
    let parent = |name: &str| json!(function(&described, name).returns)["x-parent"].clone();
    assert_eq!(parent("session_request"), json!("of"));
    assert_eq!(parent("request_copy"), Value::Null);
}

#[test]
fn what_must_outlive_the_call_is_kept_with_the_handle() {
    let described = described();
    assert_eq!(parameter(&described, "session_dictionary", "dictionary").extra["x-keep"], json!("which"));
    assert_eq!(parameter(&described, "session_bind", "text").extra["x-keep"], json!("which"));
    assert_eq!(parameter(&described, "session_bind", "done").extra["x-handle"], json!("NULL"));
    let reason = &skipped(&described, "session_set_output").reason;
    assert!(reason.ends_with("a buffer that must outlive the call"), "{reason}");
}

#[test]
fn callbacks_collect_what_they_are_given() {
    let described = described();
    let row = &parameter(&described, "each", "row").extra;
    let int = json!({"type": "int", "isPointer": false});
    assert_eq!(
        row["x-callback"],
        json!({"parameters": [
            {"name": "data", "cType": {"type": "void", "isPointer": true}},
            {"name": "number", "cType": int},
            {"name": "text", "cType": {"type": "char", "isPointer": true}}], "userData": 0, "returns": 0, "max": 1000})
    );
    assert!(row.contains_key("x-review"));
    assert_eq!(parameter(&described, "each", "data").extra["x-userData"], json!(true));
    // What is registered is called back later: those calls tell.
    let handler = &parameter(&described, "session_set_handler", "handler").extra;
    assert_eq!(handler["x-keep"], json!("which"));
    assert_eq!(handler["x-callback"]["parameters"][1]["lengthParam"], json!("len"));
    assert_eq!(parameter(&described, "session_parse", "events").extra["x-events"], json!("which"));
    // Allocators have defaults.
    for name in ["alloc", "release", "opaque"] {
        assert_eq!(parameter(&described, "session_with", name).extra["x-handle"], json!("NULL"), "{name}");
    }
}

#[test]
fn named_addresses_are_handles_and_functions_say_which_way_buffers_go() {
    let described = described();
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("file_write", "file"),
        json!(["string", "void", "pointer", "in", "required", {"x-handle": "FILEISH"}])
    );
    assert_eq!(shape("file_write", "buf")[3], json!("in"));
    assert_eq!(shape("file_read", "buf")[3], json!("out"));
    assert_eq!(parameter(&described, "file_read", "buf").extra["x-lengthParam"], json!("result"));
    // A text that is changed in place goes in, and what is returned comes out.
    assert_eq!(shape("upper", "text"), json!(["string", "char", "pointer", "in", "required", {"x-review": true}]));
}
