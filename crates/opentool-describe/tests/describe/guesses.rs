//! Which way data goes, what counts it, and whether it is text: right, or marked.

use super::*;

/// A library of functions that are declared and do nothing.
fn declared(header: &str, names: &[&str]) -> Description {
    let vendor = Vendor { folder: tempfile::tempdir().unwrap() };
    vendor.write("vendor.h", &format!("#include <stddef.h>\n#include <stdint.h>\n{header}"));
    let source: String = names.iter().map(|name| format!("int {name}(void) {{ return 0; }}\n")).collect();
    let (source, library) = (vendor.write("vendor.c", &source), vendor.path("libvendor.so"));
    assert!(Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([library, source]).status().unwrap().success());
    vendor.describe()
}

#[test]
fn a_source_without_const_is_an_input_with_a_mark() {
    // The header of bzip2.
    let header =
        "int buff_compress(char *dest, unsigned int *destLen, char *source, unsigned int sourceLen, int level);";
    let described = declared(header, &["buff_compress"]);
    let shape = |name: &str| shape(parameter(&described, "buff_compress", name));
    assert_eq!(
        shape("source"),
        json!(["string", "char", "pointer", "in", "required",
            {"x-encoding": "base64", "x-lengthParam": "sourceLen", "x-review": true}])
    );
    assert_eq!(
        shape("dest"),
        json!(["string", "char", "pointer", "out", "optional",
            {"x-encoding": "base64", "x-lengthParam": "destLen", "x-sizeParam": "destLen", "x-review": true}])
    );
    assert_eq!(shape("sourceLen"), json!(["integer", "unsigned int", "value", "in", "optional"]));
}

#[test]
fn a_buffer_is_sized_by_its_own_capacity_wherever_that_stands() {
    // The header of LZ4.
    let header = "
/*! Compresses 'srcSize' bytes from buffer 'src' into 'dst'.
 * @return the number of bytes written into buffer 'dst' */
int z_compress(const char *src, char *dst, int srcSize, int dstCapacity);
int z_decompress(const char *src, char *dst, int compressedSize, int dstCapacity);
int z_dest_size(const char *src, char *dst, int *srcSizePtr, int targetDstSize);
int z_encode(size_t input_size, const uint8_t input_buffer[], size_t *encoded_size, uint8_t encoded_buffer[]);
int z_base64(unsigned char *dst, size_t dlen, size_t *olen, const unsigned char *src, size_t slen);";
    let described = declared(header, &["z_compress", "z_decompress", "z_dest_size", "z_encode", "z_base64"]);
    let keys = |of: &str, name: &str| {
        let mut keys = json!(parameter(&described, of, name).extra);
        keys.as_object_mut().unwrap().remove("x-review");
        keys
    };
    assert_eq!(keys("z_compress", "src"), json!({"x-lengthParam": "srcSize", "x-encoding": "base64"}));
    assert_eq!(
        keys("z_compress", "dst"),
        json!({"x-sizeParam": "dstCapacity", "x-lengthParam": "result", "x-encoding": "base64"})
    );
    // The comment says it all, so nothing is left to check.
    assert!(!described.reviews.iter().any(|review| review.function == "z_compress"), "{:?}", described.reviews);
    assert_eq!(keys("z_decompress", "src")["x-lengthParam"], json!("compressedSize"));
    assert_eq!(keys("z_decompress", "dst")["x-sizeParam"], json!("dstCapacity"));
    assert!(parameter(&described, "z_decompress", "src").extra.contains_key("x-review"));
    assert_eq!(keys("z_dest_size", "src")["x-lengthParam"], json!("srcSizePtr"));
    assert_eq!(keys("z_dest_size", "srcSizePtr"), json!({"x-inOut": true}));
    assert_eq!(keys("z_dest_size", "dst")["x-sizeParam"], json!("targetDstSize"));
    assert_eq!(keys("z_encode", "input_buffer")["x-lengthParam"], json!("input_size"));
    assert_eq!(keys("z_encode", "encoded_buffer")["x-sizeParam"], json!("encoded_size"));
    assert_eq!(keys("z_base64", "dst")["x-sizeParam"], json!("dlen"));
    assert_eq!(keys("z_base64", "dst")["x-lengthParam"], json!("olen"));
    assert_eq!(keys("z_base64", "src")["x-lengthParam"], json!("slen"));
}

#[test]
fn const_survives_typedefs_of_arrays() {
    let header = "typedef float vec3[3]; typedef unsigned char uuid[16];
float dot(const vec3 a, const vec3 b); void scale(const vec3 a, float by, vec3 dest); int compare(const uuid a, const uuid b);";
    let described = declared(header, &["dot", "scale", "compare"]);
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(shape("dot", "a"), json!(["array", "float", "pointer", "in", "required"]));
    assert_eq!(
        shape("scale", "dest"),
        json!(["array", "float", "pointer", "out", "optional", {"x-size": 3, "x-review": true}])
    );
    assert_eq!(
        shape("compare", "b"),
        json!(["string", "unsigned char", "pointer", "in", "required", {"x-encoding": "base64"}])
    );
    assert_eq!(parameter(&described, "compare", "a").description.as_deref(), Some("Bytes, in base64."));
}

#[test]
fn char_with_a_length_is_text_with_a_mark_unless_something_settles_it() {
    let header = "
int feed(const char *data, size_t len);
int query(const char *sql, size_t len);
/* Appends a string. @param data the text, in UTF-8 */
int append_text(const char *data, size_t len);
/* Takes binary data. */
int put(const char *data, size_t len);
int digest(const char *data, size_t len);
int raw(const uint8_t *data, size_t len);";
    let described = declared(header, &["feed", "query", "append_text", "put", "digest", "raw"]);
    let of = |of: &str| {
        let found = parameter(&described, of, if of == "query" { "sql" } else { "data" });
        (found.extra.get("x-encoding").cloned(), found.extra.contains_key("x-review"))
    };
    assert_eq!(of("feed"), (None, true));
    assert_eq!(of("query"), (None, false));
    assert_eq!(of("append_text"), (None, false));
    assert_eq!(of("put"), (Some(json!("base64")), false));
    assert_eq!(of("digest"), (Some(json!("base64")), true));
    assert_eq!(of("raw"), (Some(json!("base64")), false));
}

#[test]
fn a_number_that_is_named_after_something_else_counts_nothing() {
    let header = "int start(const char *version, int stream_size); int loads(const char *input, size_t flags);";
    let described = declared(header, &["start", "loads"]);
    for (of, name) in [("start", "version"), ("loads", "input")] {
        assert!(!parameter(&described, of, name).extra.contains_key("x-lengthParam"), "{of}");
    }
    assert!(parameter(&described, "start", "stream_size").required);
}

#[test]
fn a_length_after_a_name_may_be_that_of_what_is_named() {
    let header = "
#include <sys/types.h>
int put_text(const char *name, size_t len, const char *value);
const char *kept(void);
int define(const char *name, size_t len);
int find(const char *name, size_t name_len);
int cut(const char *path, off_t length);
";
    let source = "
#include <string.h>
static char text[64];
int put_text(const char *name, size_t len, const char *value) { (void)name; memcpy(text, value, len); text[len] = 0; return 0; }
const char *kept(void) { return text; }
int define(const char *name, size_t len) { (void)name; return (int)len; }
int find(const char *name, size_t name_len) { (void)name; return (int)name_len; }
int cut(const char *path, off_t length) { (void)path; return (int)length; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = super::lifetimes::opened(&vendor, &described);
    super::calls::call(&library, "put_text", json!({ "name": "unit", "value": "metres" }));
    assert_eq!(super::calls::call(&library, "kept", json!({})), json!({ "result": "metres" }));
    assert_eq!(super::calls::call(&library, "cut", json!({ "path": "a", "length": 7 })), json!({ "result": 7 }));
    let is_marked = |of: &str, name: &str| parameter(&described, of, name).extra.contains_key("x-review");
    assert!(is_marked("define", "name") && is_marked("put_text", "value"));
    assert!(!is_marked("find", "name") && !is_marked("cut", "path"));
}

#[test]
fn a_text_that_stands_where_others_take_numbers_is_marked() {
    let header = "
int put_var_text(int id, const char *op);
int put_var_int(int id, const int *op);
int put_var_double(int id, const double *op);
int put_var_string(int id, const char *op);
int put_name(int id, const char *op);
int store_text(int id, const char *text);
int store_int(int id, int value);
double add(const double *op);
int print(const char *op);
";
    let source = "
static char kept[4];
int put_var_text(int id, const char *op) { for (int at = 0; at < 4; at++) kept[at] = op[at]; return id; }
int put_var_int(int id, const int *op) { return id + *op; }
int put_var_double(int id, const double *op) { return id + (int)*op; }
int put_var_string(int id, const char *op) { return id + *op; }
int put_name(int id, const char *op) { return id + *op; }
int store_text(int id, const char *text) { return id + *text; }
int store_int(int id, int value) { return id + value; }
double add(const double *op) { return *op; }
int print(const char *op) { return *op; }
";
    let described = Vendor::new(header, source).describe();
    let mark = |of: &str, name: &str| parameter(&described, of, name).extra.get("x-review").cloned();
    let reason = mark("put_var_text", "op").unwrap();
    assert!(reason.as_str().unwrap().contains("`put_var_int` takes numbers there"), "{reason}");
    for (of, name) in [("put_var_string", "op"), ("put_name", "op"), ("store_text", "text"), ("print", "op")] {
        assert_eq!(mark(of, name), None, "{of}");
    }
}

#[test]
fn a_number_that_may_be_an_address_is_marked() {
    let described = declared("int peek(uintptr_t where); int twice(unsigned long value);", &["peek", "twice"]);
    assert!(parameter(&described, "peek", "where").extra.contains_key("x-review"));
    assert!(!parameter(&described, "twice", "value").extra.contains_key("x-review"));
}

#[test]
fn elements_of_unknown_size_that_are_counted_are_marked() {
    let header = "
int update(const void *values, int n);
int store(const void *items, size_t num_items);
int put(const void *bytes, int n);
int send(const void *message, size_t message_len);";
    let described = declared(header, &["update", "store", "put", "send"]);
    let is_marked = |of: &str, name: &str| parameter(&described, of, name).extra.contains_key("x-review");
    assert!(is_marked("update", "values") && is_marked("store", "items"));
    assert!(!is_marked("put", "bytes") && !is_marked("send", "message"));
}

#[test]
fn returned_bytes_that_are_taken_as_text_are_marked() {
    let header = "
typedef struct box box;
box *box_new(void);
const char *box_get_bytes(const box *of);
const char *box_get_name(const box *of);";
    let described = declared(header, &["box_new", "box_get_bytes", "box_get_name"]);
    let is_marked = |of: &str| json!(function(&described, of).returns)["x-review"].is_string();
    assert!(is_marked("box_get_bytes") && !is_marked("box_get_name"));
}

#[test]
fn amounts_sent_and_received_are_not_codes() {
    let header = "
typedef struct line line; typedef enum { LINE_OK, LINE_BUSY } line_code;
line *line_open(void);
line_code line_recv(line *it, void *buffer, size_t buflen, size_t *n);
line_code line_send(line *it, const void *buffer, size_t buflen, size_t *sent, long framesize);
line_code line_read(line *it, void *buffer, size_t buflen);
int line_data_cb(line *it, long datasize, size_t (*readfunc)(char *to, size_t size, void *arg),
                 void (*freefunc)(void *arg), void *arg);";
    let described = declared(header, &["line_open", "line_recv", "line_send", "line_read", "line_data_cb"]);
    let length = |of: &str| parameter(&described, of, "buffer").extra.get("x-lengthParam").cloned();
    assert_eq!(length("line_recv"), Some(json!("n")));
    assert_eq!(length("line_send"), Some(json!("buflen")));
    // A code says nothing of how much was read.
    assert_eq!(length("line_read"), None);
    let sent = parameter(&described, "line_send", "sent");
    assert_eq!((sent.is_in, json!(sent.schema.schema_type)), (false, json!("integer")));
    assert!(parameter(&described, "line_data_cb", "arg").extra.contains_key("x-userData"));
}

#[test]
fn an_array_of_handles_that_is_counted_before_is_left_out() {
    let header = "
typedef struct message message; typedef struct event event;
event *event_new(void); message *message_new(void);
int message_set_events_n(message *to, size_t n_events, event **events);
int message_first(message *of, const char *text, int nText, event **found);";
    let described = declared(header, &["event_new", "message_new", "message_set_events_n", "message_first"]);
    assert_eq!(skipped(&described, "message_set_events_n").reason, "takes `event **events`, an array of handles");
    assert_eq!(parameter(&described, "message_first", "found").extra["x-handle"], json!("event"));
}

#[test]
fn a_list_that_is_only_extended_begins_with_null_and_is_a_handle() {
    let header = "
struct slist { char *data; struct slist *next; };
struct slist *slist_append(struct slist *list, const char *text);
void slist_free_all(struct slist *list);";
    let described = declared(header, &["slist_append", "slist_free_all"]);
    let list = parameter(&described, "slist_append", "list");
    assert_eq!((list.extra["x-handle"].clone(), list.required), (json!("slist"), false));
    assert_eq!(json!(function(&described, "slist_append").returns)["x-handle"], json!("slist"));
    assert_eq!(parameter(&described, "slist_free_all", "list").extra["x-closes"], json!(true));
}

#[test]
fn an_array_that_is_said_to_be_output_is_not_marked() {
    let header = "
/** Adds. @param a - one @param out - (out) the sum */
void add(const double a[3], double out[3]);
/** Adds. @param[out] out the sum */
void add_more(const double a[3], double out[3]);
/** Adds. @param a one @param out Output vector */
void add_most(const float a[3], float *out);
/** Adds. @param out the sum */
void add_some(const double a[3], double out[3]);
/** Hashes. @param out output buffer */
void hash(const char *text, unsigned char out[20]);
/** Writes. @param out output: */
void put(const char *out);";
    let described = declared(header, &["add", "add_more", "add_most", "add_some", "hash", "put"]);
    let out = |of: &str| {
        let found = parameter(&described, of, "out");
        (found.is_in, found.extra.contains_key("x-review"))
    };
    for name in ["add", "add_more", "add_most", "hash"] {
        assert_eq!(out(name), (false, false), "{name}");
    }
    assert_eq!(out("add_some"), (false, true));
    // What may not be written to goes in, whatever is said.
    assert_eq!(out("put"), (true, false));
    assert_eq!(parameter(&described, "add", "a").description.as_deref(), Some("one"));
}

#[test]
fn what_two_parameters_count_is_left_out() {
    let header =
        "size_t store(const void *buf, size_t size, size_t nitems); int keep(const void *buf, size_t size, int fd);";
    let described = declared(header, &["store", "keep"]);
    assert!(skipped(&described, "store").reason.ends_with("whose length is the product of two parameters"));
    assert_eq!(parameter(&described, "keep", "buf").extra["x-lengthParam"], json!("size"));
}

#[test]
fn sizes_of_digests_and_keys_come_from_macros() {
    let header = "#define SHA_DIGEST_LENGTH 20\n#define box_KEYBYTES (32U)\n
unsigned char *SHA(const unsigned char *d, size_t n, unsigned char *md);
int box(unsigned char *out, size_t outlen, const unsigned char *k);
int other(unsigned char *md);";
    let described = declared(header, &["SHA", "box", "other"]);
    assert_eq!(parameter(&described, "SHA", "md").extra["x-size"], json!(20));
    // What it returns is the address of the buffer.
    assert!(function(&described, "SHA").returns.is_none());
    assert_eq!(json!(parameter(&described, "box", "k").schema.extra), json!({"minLength": 44, "maxLength": 44}));
    assert_eq!(parameter(&described, "other", "md").extra["x-size"], json!(4096));
    for (of, name) in [("SHA", "md"), ("box", "k"), ("other", "md")] {
        assert!(parameter(&described, of, name).extra.contains_key("x-review"), "{of}");
    }
}

#[test]
fn handles_may_be_null_where_the_comment_or_the_order_says_so() {
    let header = "
typedef struct code code; typedef struct context context; typedef struct list list; typedef struct ghost ghost;
context *context_new(void);
code *compile(const char *pattern, int flags, context *settings);
int match(code *which, const char *text, context *settings);
/* Dumps it. The name may be NULL. The code must not be NULL. */
int dump(code *which, const char *name);
list *list_append(list *to, const char *text);
int haunt(code *which, ghost *by);
int boo(ghost *which);";
    let described = declared(header, &["context_new", "compile", "match", "dump", "list_append", "haunt", "boo"]);
    let need = |of: &str, name: &str| {
        let found = parameter(&described, of, name);
        (found.required, found.extra.contains_key("x-review"))
    };
    assert_eq!(need("compile", "settings"), (false, true));
    assert_eq!(need("match", "settings"), (false, true));
    assert_eq!(need("match", "which"), (true, false));
    assert_eq!(need("dump", "name"), (false, false));
    assert_eq!(need("dump", "which"), (true, false));
    // A list that is only made from itself begins with NULL.
    assert_eq!(need("list_append", "to"), (false, true));
    assert_eq!(need("haunt", "by"), (false, true));
    assert_eq!(skipped(&described, "boo").reason, "takes a `ghost *`, which no function that can be described returns");
}

#[test]
fn texts_through_pointers_name_who_frees_them() {
    let header = "
void vendor_free(void *memory);
/* Converts. The output is freed by vendor_free(). */
int convert(const char *input, char **output);

int encode(const char *input, unsigned char **bytes, size_t *length);
int parse(const char *input, const char **rest);
void drop_text(char *text);";
    let described = declared(header, &["vendor_free", "convert", "encode", "parse", "drop_text"]);
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("convert", "output"),
        json!(["string", "char", "pointer", "out", "optional", {"x-indirect": true, "x-free": "vendor_free", "x-review": true}])
    );
    assert_eq!(
        shape("encode", "bytes"),
        json!(["string", "unsigned char", "pointer", "out", "optional",
            {"x-indirect": true, "x-encoding": "base64", "x-lengthParam": "length", "x-review": true}])
    );
    assert_eq!(
        shape("parse", "rest"),
        json!(["string", "char", "pointer", "out", "optional", {"x-indirect": true, "x-review": true}])
    );
    assert!(skipped(&described, "vendor_free").reason.starts_with("frees memory of the library"));
}

#[test]
fn constants_have_their_names_and_macros_explain_comments() {
    let header = "#define ZZ_DONE 1\n#define ZZ_BAD (-3)\n
typedef enum { RED, GREEN, BLUE } color; typedef enum open_flags { READ = 1, WRITE = 2, SYNC = 4 } open_flags;
/* Paints. Returns ZZ_DONE, or ZZ_BAD. */
int paint(color with, open_flags how);";
    let described = declared(header, &["paint"]);
    let keys = |name: &str| json!(parameter(&described, "paint", name).extra);
    assert_eq!(keys("with"), json!({"x-values": {"RED": 0, "GREEN": 1, "BLUE": 2}}));
    assert_eq!(keys("how"), json!({"x-values": {"READ": 1, "WRITE": 2, "SYNC": 4}, "x-flags": true}));
    let description = &function(&described, "paint").description;
    assert_eq!(description, "Paints. Returns ZZ_DONE, or ZZ_BAD.\nConstants: ZZ_DONE = 1, ZZ_BAD = -3.");
}
