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
    // By its name, what it is given the address of ends.
    let destroyed = parameter(&described, "session_destroy", "which");
    assert_eq!(
        shape(destroyed),
        json!(["string", "void", "pointer", "in", "required", {"x-handle": "session", "x-indirect": true, "x-closes": true, "x-review": true}])
    );
}

/// Opens what was described, and calls it in this process.
pub(crate) fn opened(vendor: &Vendor, described: &Description) -> opentool_dyn::DynLibrary {
    let text = serde_json::to_string(&described.document).unwrap();
    let builder = opentool_dyn::DynLibrary::builder().document_text(text).library(vendor.path("libvendor.so"));
    let opened = builder.isolation(opentool_dyn::Isolation::None).open().unwrap();
    assert_eq!(opened.disabled().collect::<Vec<_>>(), [], "every function that is described can be called");
    opened
}

#[test]
fn destructors_that_take_the_address_of_a_handle_end_it() {
    let header = "
typedef struct thing thing;
thing *thing_new(int value);
int thing_value(const thing *it);
int things(void);
/* Frees a thing and sets the pointer to NULL. */
void thing_free(thing **it);
/* Puts another thing there. */
void thing_replace(thing **it, int value);
";
    let source = "
#include <stdlib.h>
struct thing { int value; };
static int live = 0;
thing *thing_new(int value) { thing *it = malloc(sizeof *it); it->value = value; live++; return it; }
int thing_value(const thing *it) { return it->value; }
int things(void) { return live; }
void thing_free(thing **it) { if (*it) { free(*it); live--; } *it = 0; }
void thing_replace(thing **it, int value) { *it = thing_new(value); }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = opened(&vendor, &described);
    let made = super::calls::call(&library, "thing_new", json!({ "value": 7 }))["result"].clone();
    assert_eq!(super::calls::call(&library, "thing_value", json!({ "it": made })), json!({ "result": 7 }));
    assert_eq!(super::calls::call(&library, "thing_free", json!({ "it": made })), json!({}));
    assert_eq!(super::calls::call(&library, "things", json!({})), json!({ "result": 0 }));
    for name in ["thing_value", "thing_free"] {
        let error = super::calls::refused(&library, name, json!({ "it": made }));
        assert!(error.contains("expected a handle of type `thing` that is open"), "{error}");
    }
}

#[test]
fn destructors_are_known_by_numbers_parameters_and_aliases() {
    let header = "
typedef struct settings settings;
typedef settings profile;
settings *settings_init1(int value);
int settings_value(const settings *it);
void settings_destroy1(settings *it);
void free_opt(settings *opt);
void freeProfile(profile *which);
void settings_free_extensions(settings *it);
void settings_free_unused_memory(settings *it);
void settings_delete_item_from_array(settings *array, int which);
";
    let source = "
#include <stdlib.h>
struct settings { int value; };
settings *settings_init1(int value) { settings *it = malloc(sizeof *it); it->value = value; return it; }
int settings_value(const settings *it) { return it->value; }
void settings_destroy1(settings *it) { free(it); }
void free_opt(settings *opt) { free(opt); }
void freeProfile(profile *which) { free(which); }
void settings_free_extensions(settings *it) { (void)it; }
void settings_free_unused_memory(settings *it) { (void)it; }
void settings_delete_item_from_array(settings *array, int which) { array->value -= which; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = opened(&vendor, &described);
    for (name, parameter) in [("settings_destroy1", "it"), ("free_opt", "opt"), ("freeProfile", "which")] {
        let made = super::calls::call(&library, "settings_init1", json!({ "value": 7 }))["result"].clone();
        assert_eq!(super::calls::call(&library, name, json!({ parameter: made })), json!({}));
        let error = super::calls::refused(&library, "settings_value", json!({ "it": made }));
        assert!(error.contains("expected a handle of type `settings` that is open"), "{name}: {error}");
    }
    // What frees only a part is left open, but marked.
    let kept = parameter(&described, "settings_free_extensions", "it");
    assert_eq!((kept.extra.contains_key("x-closes"), kept.extra.contains_key("x-review")), (false, true));
    // What names something else needs no mark.
    let made = super::calls::call(&library, "settings_init1", json!({ "value": 7 }))["result"].clone();
    super::calls::call(&library, "settings_free_unused_memory", json!({ "it": made }));
    super::calls::call(&library, "settings_delete_item_from_array", json!({ "array": made, "which": 2 }));
    assert_eq!(super::calls::call(&library, "settings_value", json!({ "it": made })), json!({ "result": 5 }));
    for (of, name) in [("settings_free_unused_memory", "it"), ("settings_delete_item_from_array", "array")] {
        let kept = parameter(&described, of, name);
        assert_eq!((kept.extra.contains_key("x-closes"), kept.extra.contains_key("x-review")), (false, false), "{of}");
    }
}

#[test]
fn what_clears_leaves_or_unloads_an_object_ends_it() {
    let header = "
typedef struct state state; typedef struct dialog dialog;
state *state_new();
int state_value(const state *it);
void state_clear(state **it);
void state_exit(state *it);
void unload_state(state *it);
dialog *dialog_init(void);
int shutdown_dialog(dialog *it);
void dialog_swap_out(dialog **it);
";
    let source = "
#include <stdlib.h>
struct state { int value; }; struct dialog { int value; };
state *state_new() { state *it = malloc(sizeof *it); it->value = 7; return it; }
int state_value(const state *it) { return it->value; }
void state_clear(state **it) { free(*it); *it = 0; }
void state_exit(state *it) { free(it); }
void unload_state(state *it) { free(it); }
dialog *dialog_init(void) { return 0; }
int shutdown_dialog(dialog *it) { return it == 0; }
void dialog_swap_out(dialog **it) { *it = 0; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = opened(&vendor, &described);
    for name in ["state_clear", "state_exit", "unload_state"] {
        let made = super::calls::call(&library, "state_new", json!({}))["result"].clone();
        assert_eq!(super::calls::call(&library, "state_value", json!({ "it": made })), json!({ "result": 7 }));
        assert_eq!(super::calls::call(&library, name, json!({ "it": made })), json!({}));
        let error = super::calls::refused(&library, "state_value", json!({ "it": made }));
        assert!(error.contains("expected a handle of type `state` that is open"), "{name}: {error}");
    }
    // What may end it, or something else, is marked.
    for name in ["shutdown_dialog", "dialog_swap_out"] {
        let kept = parameter(&described, name, "it");
        assert_eq!((kept.extra.contains_key("x-closes"), kept.extra.contains_key("x-review")), (false, true), "{name}");
    }
}

#[test]
fn arrays_of_handles_are_not_objects_that_are_made() {
    let header = "
#include <stddef.h>
typedef struct corner corner; typedef struct tree tree;
int tree_create(tree **made, size_t dimension);
size_t tree_dimension(const tree *it);
int tree_free(tree **it);
int tree_open_all(tree **made, size_t count);
corner *corner_new(void);
int polygon(tree *on, int corners, corner *all[]);
int names(char *all[]);
";
    let source = "
#include <stdlib.h>
struct tree { size_t dimension; };
int tree_create(tree **made, size_t dimension) { *made = malloc(sizeof **made); (*made)->dimension = dimension; return 0; }
size_t tree_dimension(const tree *it) { return it->dimension; }
int tree_free(tree **it) { free(*it); *it = 0; return 0; }
int tree_open_all(tree **made, size_t count) { return made == 0 || count; }
corner *corner_new(void) { return 0; }
int polygon(tree *on, int corners, corner *all[]) { return on == 0 || corners || all == 0; }
int names(char *all[]) { return all == 0; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = opened(&vendor, &described);
    let made = super::calls::call(&library, "tree_create", json!({ "dimension": 3 }))["made"].clone();
    assert_eq!(super::calls::call(&library, "tree_dimension", json!({ "it": made })), json!({ "result": 3 }));
    assert!(parameter(&described, "tree_create", "made").extra.contains_key("x-review"));
    assert_eq!(skipped(&described, "tree_open_all").reason, "takes `tree **made`, an array of handles");
    assert_eq!(skipped(&described, "polygon").reason, "takes `corner *all[]`, an array of handles");
    assert_eq!(skipped(&described, "names").reason, "takes `char *all[]`, an array of texts");
}

#[test]
fn what_says_yes_or_no_returns_no_error_code() {
    let header = "
typedef int gboolean; typedef struct fault fault;
gboolean work(int input, fault **error);
";
    let source = "
gboolean work(int input, fault **error) { if (input) return 1; *error = (fault *)error; return 0; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let work = function(&described, "work");
    assert_eq!((work.extra.get("x-returnsCode"), work.extra.get("x-review")), (None, None));
    let done = super::calls::call(&opened(&vendor, &described), "work", json!({ "input": 1 }));
    assert_eq!(done, json!({ "result": 1, "error": null }));
}

#[test]
fn an_object_that_is_changed_through_its_address_is_marked() {
    let header = "
typedef struct list list; typedef struct trigger trigger;
int list_open(list **made);
int list_add_group(list **it, int group);
/** @param it The list, which may be reallocated. */
int list_grow(list **it, int by);
trigger *trigger_new(trigger **free_address);
int list_next(list **iter);
void listset(list **to, list *from);
int listpush(list **it, int value);
int list_copy(list **made, list *from);
int list_parent(list **parent, const list *of);
";
    let source = "
int list_open(list **made) { *made = 0; return 0; }
int list_add_group(list **it, int group) { return it == 0 || group; }
int list_grow(list **it, int by) { return it == 0 || by; }
trigger *trigger_new(trigger **free_address) { return (trigger *)free_address; }
int list_next(list **iter) { return *iter == 0; }
void listset(list **to, list *from) { *to = from; }
int listpush(list **it, int value) { return it == 0 || value; }
int list_copy(list **made, list *from) { *made = from; return 0; }
int list_parent(list **parent, const list *of) { *parent = (list *)of; return 0; }
";
    let described = Vendor::new(header, source).describe();
    let is_marked = |of: &str, name: &str| parameter(&described, of, name).extra.contains_key("x-review");
    assert!(!is_marked("list_open", "made"));
    assert!(is_marked("list_add_group", "it") && is_marked("list_grow", "it"));
    assert!(is_marked("trigger_new", "free_address") && is_marked("list_next", "iter"));
    // One that is given may be put in its place.
    assert!(is_marked("listset", "to") && is_marked("listpush", "it"));
    assert!(!is_marked("list_copy", "made") && !is_marked("list_parent", "parent"));
}

#[test]
fn a_struct_that_a_macro_zeroes_is_allocated_to_initialise() {
    let header = "
#include <stddef.h>
typedef enum { RESERVED_ENUM = 0 } reserved;
typedef struct {
    const unsigned char *next_in; size_t avail_in;
    unsigned char *next_out; size_t avail_out;
    void *internal; reserved spare;
} pack_stream;
#define PACK_STREAM_INIT { NULL, 0, NULL, 0, NULL, RESERVED_ENUM }
/** Initialize an encoder.
 * @param strm A stream that is at least initialized with PACK_STREAM_INIT.
 * @return 0 on success */
int pack_easy_encoder(pack_stream *strm, int add);
/** Encode data. It reads next_in and fills next_out. */
int pack_code(pack_stream *strm);
/** Free what the stream has. */
void pack_end(pack_stream *strm);
typedef struct { int kind; void *own; } odd_stream;
#define ODD_STREAM_INIT { 1, NULL }
/** Initialize an odd one. */
int odd_encoder(odd_stream *strm);
";
    let source = "
#include <stdlib.h>
int pack_easy_encoder(pack_stream *strm, int add) {
    if (strm->internal || strm->next_in || strm->avail_out) return 1;
    strm->internal = malloc(sizeof(int)); *(int *)strm->internal = add; return 0;
}
int pack_code(pack_stream *strm) {
    while (strm->avail_in && strm->avail_out) {
        *strm->next_out++ = *strm->next_in++ + *(int *)strm->internal; strm->avail_in--; strm->avail_out--;
    }
    return 0;
}
void pack_end(pack_stream *strm) { free(strm->internal); strm->internal = 0; }
int odd_encoder(odd_stream *strm) { return strm->kind; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    assert_eq!(
        skipped(&described, "odd_encoder").reason,
        "takes `odd_stream *strm`, a struct that the caller must make"
    );
    let library = opened(&vendor, &described);
    let call = |name: &str, arguments: Value| super::calls::call(&library, name, arguments);
    let stream = call("pack_easy_encoder", json!({ "add": 1 }))["strm"].clone();
    let coded = call("pack_code", json!({ "strm": stream, "next_in": "SEFM" }));
    assert_eq!((&coded["next_out"], &coded["avail_in"]), (&json!("SUJN"), &json!(0)), "{coded}");
    call("pack_end", json!({ "strm": stream }));
    let error = super::calls::refused(&library, "pack_code", json!({ "strm": stream }));
    assert!(error.contains("that is open"), "{error}");
}

#[test]
fn a_variadic_function_is_called_as_its_comment_shows() {
    let header = "
/** Sets an option.
 *
 * Call it as `int option_set(int option, const char *name, double value)`.
 */
int option_set(int option, ...);
/** Adds numbers, `sum(2, 40, 2)`. */
int sum(int count, ...);
/** Either either(int which, int number) or either(int which, const char *text). */
int either(int which, ...);
";
    let source = "
#include <string.h>
int option_set(int option, ...) {
    va_list all; va_start(all, option);
    const char *name = va_arg(all, const char *); double value = va_arg(all, double); va_end(all);
    return option + (int)strlen(name) + (int)(value * 2);
}
int sum(int count, ...) { return count; }
int either(int which, ...) { return which; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let option = function(&described, "option_set");
    assert_eq!(option.extra["x-fixedArgs"], json!(1));
    assert!(option.extra.contains_key("x-review"));
    assert_eq!(skipped(&described, "sum").reason, "takes any number of arguments (`...`)");
    assert_eq!(
        skipped(&described, "either").reason,
        "takes any number of arguments (`...`), and its comment shows several ways to call it"
    );
    let library = opened(&vendor, &described);
    let arguments = json!({ "option": 100, "name": "four", "value": 1.5 });
    assert_eq!(super::calls::call(&library, "option_set", arguments), json!({ "result": 107 }));
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
