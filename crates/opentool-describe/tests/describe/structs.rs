//! Structs that callers make, structs that we allocate, and their fields.

use super::*;

const HEADER: &str = "
#include <stdint.h>
typedef struct { double x, y; } point;
struct packed { char tag; int value; } __attribute__((packed));
typedef struct { char name[12]; short codes[3]; point corner; unsigned char flag; } badge;
typedef struct { unsigned bits : 3; int rest; } fields;
typedef struct { const char *label; int rank; } titled;
typedef struct { char *data; int length; } counted;
typedef struct engine_state { const unsigned char *next_in; unsigned avail_in; unsigned char *next_out; unsigned avail_out; void *inner; } engine_state;
typedef struct { int _opaque; } veiled;
double distance(point a, const point *b);
point middle(const point *a, const point *b);
void get_badge(badge *result);
void turn(point *p);
double total(const point *points, int count);
int take_packed(const struct packed *p);
int take_fields(const fields *f);
int rank(const titled *t);
int take_counted(const counted *c);
int engine_init(engine_state *state, int level);
/* Takes from next_in and writes to next_out, while avail_out is not 0. */
int engine_run(engine_state *state, int flush);
int engine_end(engine_state *state);
veiled *veiled_new(void);
int veiled_count(const veiled *which);
extern const char *const vendor_version;
extern int vendor_limit;
";
const SOURCE: &str = "
double distance(point a, const point *b) { return (a.x - b->x) + (a.y - b->y); }
point middle(const point *a, const point *b) { point p = { (a->x + b->x) / 2, (a->y + b->y) / 2 }; return p; }
void get_badge(badge *result) { badge b = { \"seven\", { 1, 2, 3 }, { 4, 5 }, 6 }; *result = b; }
void turn(point *p) { double x = p->x; p->x = p->y; p->y = -x; }
double total(const point *points, int count) { return count; }
int take_packed(const struct packed *p) { return p->value; }
int take_fields(const fields *f) { return f->rest; }
int rank(const titled *t) { return t->rank; }
int take_counted(const counted *c) { return c->length; }
int engine_init(engine_state *state, int level) { return 0; }
int engine_run(engine_state *state, int flush) { return 0; }
int engine_end(engine_state *state) { return 0; }
veiled *veiled_new(void) { static veiled v; return &v; }
int veiled_count(const veiled *which) { return 1; }
const char *const vendor_version = \"1.2\";
int vendor_limit = 7;
";

#[test]
fn flat_structs_are_values_with_a_layout_that_the_compiler_confirms() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let schemas = json!(described.document.schemas);
    assert_eq!(
        schemas["badge"]["x-struct"],
        json!({"name": "badge", "size": 48, "align": 8, "offsets": {"name": 0, "codes": 12, "corner": 24, "flag": 40}})
    );
    let properties = &schemas["badge"]["properties"];
    assert_eq!(
        properties["name"],
        json!({"type": "string", "cType": {"type": "char", "isPointer": false}, "x-size": 12})
    );
    assert_eq!(
        properties["codes"],
        json!({"type": "array", "minItems": 3, "maxItems": 3, "cType": {"type": "short", "isPointer": false}})
    );
    assert_eq!(properties["corner"], json!({"$ref": "#/schemas/point"}));
    assert_eq!(properties["flag"], json!({"type": "integer", "cType": {"type": "unsigned char", "isPointer": false}}));
    assert_eq!(schemas["titled"]["required"], json!(["rank"]));
    let parameter = |of: &str, name: &str| json!(parameter(&described, of, name));
    assert_eq!(parameter("distance", "a")["x-byValue"], json!(true));
    assert_eq!(parameter("distance", "b")["schema"], json!({"$ref": "#/schemas/point"}));
    assert!(parameter("distance", "b").get("x-byValue").is_none());
    assert_eq!(parameter("get_badge", "result")["isIn"], json!(false));
    assert_eq!(parameter("turn", "p")["x-inOut"], json!(true));
    assert!(parameter("turn", "p")["x-review"].is_string());
    assert_eq!(json!(function(&described, "middle").returns)["x-byValue"], json!(true));
    let points = parameter("total", "points");
    assert_eq!(points["schema"], json!({"type": "array", "items": {"$ref": "#/schemas/point"}}));
    assert_eq!((&points["x-lengthParam"], &parameter("total", "count")["required"]), (&json!("count"), &json!(false)));
}

#[test]
fn structs_that_are_laid_out_otherwise_are_refused() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    for name in ["take_packed", "take_fields", "take_counted"] {
        assert!(skipped(&described, name).reason.ends_with("a struct that the caller must make"), "{name}");
    }
    // A struct that says that it has no fields has none.
    assert_eq!(parameter(&described, "veiled_count", "which").extra["x-handle"], json!("veiled"));
}

#[test]
fn prepared_structs_are_allocated_and_streams_have_fields() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let shape = |of: &str, name: &str| shape(parameter(&described, of, name));
    assert_eq!(
        shape("engine_init", "state"),
        json!(["string", "void", "pointer", "out", "optional", {"x-handle": "engine_state", "x-allocate": 40, "x-review": true}])
    );
    assert_eq!(
        shape("engine_run", "next_in"),
        json!(["string", "unsigned char", "pointer", "in", "optional", {"x-encoding": "base64", "x-field": "state.next_in",
            "x-offset": 0, "x-lengthField": {"offset": 8, "cType": "unsigned int"}}])
    );
    assert_eq!(
        shape("engine_run", "next_out"),
        json!(["string", "unsigned char", "pointer", "out", "optional", {"x-encoding": "base64", "x-field": "state.next_out",
            "x-offset": 16, "x-size": 65536, "x-lengthField": {"offset": 24, "cType": "unsigned int"}}])
    );
    assert_eq!(parameter(&described, "engine_end", "state").extra["x-closes"], json!(true));
    assert_eq!(function(&described, "engine_end").parameters.len(), 1);
}

#[test]
fn variables_are_read_by_functions_without_parameters() {
    let described = Vendor::new(HEADER, SOURCE).describe();
    let version = function(&described, "vendor_version");
    assert_eq!((&version.extra["x-global"], version.parameters.len()), (&json!(true), 0));
    assert_eq!(json!(version.returns)["schema"]["cType"], json!({"type": "char", "isPointer": true}));
    let limit = json!(function(&described, "vendor_limit").returns);
    assert_eq!(limit["schema"], json!({"type": "integer", "cType": {"type": "int", "isPointer": false}}));
}

#[test]
fn an_array_of_structs_has_the_length_that_its_type_says() {
    let header = "
typedef struct { unsigned char r, g, b; } colour;
typedef colour palette[4];
int reds(const palette p);
void get_palette(palette p);
int first_red(const colour *pal);
";
    let source = "
int reds(const palette p) { return p[0].r + p[1].r + p[2].r + p[3].r; }
void get_palette(palette p) { for (int at = 0; at < 4; at++) { p[at].r = 10 * at; p[at].g = at; p[at].b = 1; } }
int first_red(const colour *pal) { return pal[0].r; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = super::lifetimes::opened(&vendor, &described);
    let filled = super::calls::call(&library, "get_palette", json!({}))["p"].clone();
    assert_eq!(filled[3], json!({ "r": 30, "g": 3, "b": 1 }));
    assert_eq!(super::calls::call(&library, "reds", json!({ "p": filled })), json!({ "result": 60 }));
    // Others than four are refused before the call.
    let input = json!(parameter(&described, "reds", "p").schema);
    assert_eq!((&input["minItems"], &input["maxItems"]), (&json!(4), &json!(4)));
    let is_marked = |of: &str, name: &str| parameter(&described, of, name).extra.contains_key("x-review");
    assert!(!is_marked("reds", "p") && is_marked("get_palette", "p"));
    // One of them may be the first of many.
    assert!(is_marked("first_red", "pal"));
}

#[test]
fn a_struct_passed_by_value_has_fields_despite_its_address() {
    let header = "
typedef struct { unsigned a; unsigned short b; } guid;
int text_to_guid(const char *text, guid *guid);
unsigned sum(guid it);
int next_guid(guid **guid);
";
    let source = "
int text_to_guid(const char *text, guid *made) { made->a = text[0]; made->b = text[1]; return 0; }
unsigned sum(guid it) { return it.a + it.b; }
int next_guid(guid **guid) { return guid == 0; }
";
    let vendor = Vendor::new(header, source);
    let described = vendor.describe();
    let library = super::lifetimes::opened(&vendor, &described);
    let call = |name: &str, arguments: Value| super::calls::call(&library, name, arguments);
    let made = call("text_to_guid", json!({ "text": "AB", "guid": { "a": 0, "b": 0 } }));
    assert_eq!(made, json!({ "result": 0, "guid": { "a": 65, "b": 66 } }));
    assert_eq!(call("sum", json!({ "it": made["guid"] })), json!({ "result": 131 }));
    assert_eq!(skipped(&described, "next_guid").reason, "takes `guid **guid`, a pointer to a pointer");
}
