/* What real libraries do with pointers, structs, callbacks and memory. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

/* NULL. */
int is_null(const void *object, const char *text, const int *values) { return !object + 2 * !text + 4 * !values; }

/* Text through `char **`. */
static int live;
int live_texts(void) { return live; }
void text_free(void *text) { live--; free(text); }
int text_make(const char *from, char **made) {
    if (!*from) return 1;
    live++;
    *made = malloc(strlen(from) + 3);
    sprintf(*made, "<%s>", from);
    return 0;
}
int text_constant(const char **made) { *made = "constant"; return 0; }
int bytes_make(unsigned char **made, size_t *length) {
    static unsigned char bytes[] = {0, 255, 1, 0};
    *made = bytes, *length = 4;
    return 0;
}
int numbers_make(int **made, int *count) { static int numbers[] = {3, 1, 4}; *made = numbers, *count = 3; return 0; }
int nothing_made(char **made) { (void)made; return 0; }

/* In-out lengths. */
int encode(const char *from, char *to, size_t *length) {
    size_t needed = strlen(from);
    if (*length < needed) { *length = needed; return 1; }
    memcpy(to, from, needed);
    *length = needed;
    return 0;
}
void double_it(int *value) { *value *= 2; }

/* A stream in zlib's manner. */
typedef struct { const unsigned char *next_in; unsigned avail_in; unsigned char *next_out; unsigned avail_out; long total; void *state; const char *message; int type; union { int number; const char *text; } data; } stream;
size_t stream_size(void) { return sizeof(stream); }
int streams_open;
int stream_init(stream *it, int level, const char *version, int size) {
    if (size != (int)sizeof(stream) || strcmp(version, "1.0") || it->state || it->total) return -6;
    if (level < 0) return -2;
    it->state = malloc(16), it->message = "ready", streams_open++;
    return 0;
}
int stream_run(stream *it, int flush) {
    if (!it->state) return -2;
    while (it->avail_in && it->avail_out) *it->next_out++ = *it->next_in++ ^ 0x20, it->avail_in--, it->avail_out--, it->total++;
    it->message = flush ? NULL : "running";
    return it->avail_in ? -5 : flush ? 1 : 0;
}
/* Whether the stream still points to memory of an earlier call. */
int stream_dangles(stream *it) { return it->next_in != NULL || it->next_out != NULL || it->avail_in || it->avail_out; }
int stream_end(stream *it) { free(it->state); it->state = NULL; streams_open--; return 0; }
int streams(void) { return streams_open; }
int stream_copies(stream *it, stream *from, stream *to) { it->total = 7; return from == to; }
/* An event with a union, as libyaml has it. */
int stream_event(stream *it, int which) {
    it->type = which;
    if (which == 2) it->data.text = "a text"; else it->data.number = 16;
    return 1;
}

/* Constants and globals. */
enum mode { MODE_READ = 1, MODE_WRITE = 2, MODE_ALL = 7 };
int mode_bits(int mode) { return mode; }
unsigned char small_mode(unsigned char mode) { return mode; }
int answer = 42;
double ratio = 1.5;
const char *version = "2.7";
const char release[8] = "r12";
int table[4] = {1, 2, 3, 4};
long long negative = -5;
unsigned char flag_byte = 200;

/* Structs. */
typedef struct { int x, y; } point;
typedef struct { point from, to; double width; char name[8]; short dashes[3]; _Bool closed; const char *note; } line;
typedef struct { double a, b, c; } large;
typedef struct { char tag; float value; } mixed;
size_t line_size(void) { return sizeof(line); }
point global_point = {7, 8};
int point_sum(const point *it) { return it ? it->x + it->y : -1; }
int point_sum_value(point it) { return it.x + it.y; }
point point_swapped(point it) { point swapped = {it.y, it.x}; return swapped; }
large large_scaled(large it, double by) { large scaled = {it.a * by, it.b * by, it.c * by}; return scaled; }
mixed mixed_next(mixed it) { mixed next = {it.tag + 1, it.value * 2}; return next; }
void point_make(int x, int y, point *made) { made->x = x, made->y = y; }
void point_move(point *it, int by) { it->x += by, it->y += by; }
int line_describe(const line *it, line *out, char *text, int size) {
    *out = *it;
    out->from.x++, out->width *= 2, out->closed = !it->closed, out->dashes[2] = 9, out->note = "a note";
    return snprintf(text, size, "%s %d,%d-%d,%d %s", it->name, it->from.x, it->from.y, it->to.x, it->to.y, it->note ? it->note : "-");
}
const point *point_origin(int there) { static point origin = {0, 0}; return there ? &origin : NULL; }
int points_list(point *to, int capacity) { int count = capacity < 3 ? capacity : 3; for (int i = 0; i < count; i++) to[i].x = i, to[i].y = -i; return count; }
int points_sum(const point *all, int count) { int sum = 0; for (int i = 0; i < count; i++) sum += all[i].x * all[i].y; return sum; }
int points_own(point **all, int *count) { static point own[2] = {{1, 2}, {3, 4}}; *all = own, *count = 2; return 0; }
void line_latin1(line *out) { memset(out, 0, sizeof *out); strcpy(out->name, "caf\xe9"); }

/* Callbacks. */
typedef int (*visitor)(void *data, int index, const char *name, double weight);
int visit(int count, visitor visitor, void *data) {
    char name[16];
    for (int i = 0; i < count; i++) {
        sprintf(name, "n%d", i);
        int answer = visitor(data, i, name, i / 2.0);
        if (answer) return answer;
    }
    return 0;
}
typedef int (*row)(void *data, int columns, char **values, char **names);
int query(const char *sql, row row, void *data, char **error) {
    char *values[2] = {(char *)sql, NULL}, *names[2] = {"sql", "nothing"};
    if (!*sql) { live++; *error = strdup("no query"); return 1; }
    if (row(data, 2, values, names)) return 4;
    return row(data, 2, values, names) ? 4 : 0;
}
void chunks(void (*take)(const unsigned char *bytes, size_t length, void *data), void *data) {
    take((const unsigned char *)"\0\1", 2, data);
    take((const unsigned char *)"\xff", 1, data);
}
void bad_text(void (*take)(const char *text)) { take("caf\xe9"); }

/* A parser with registered handlers, as expat has them. */
typedef struct { void (*start)(void *, const char *); void (*end)(void *, const char *); void *data; const char *input; } parser;
parser *parser_new(void) { return calloc(1, sizeof(parser)); }
void parser_set(parser *it, void (*start)(void *, const char *), void (*end)(void *, const char *)) { it->start = start, it->end = end; }
int parser_run(parser *it, const char *names) {
    char name[2] = {0};
    for (; *names; names++) {
        name[0] = *names;
        if (it->start) it->start(it->data, name);
        if (it->end) it->end(it->data, name);
    }
    return 0;
}
void parser_free(parser *it) { free(it); }

/* Lifetimes: the reader uses the caller's memory after the call. */
typedef struct reader { const char *input; size_t length, at; int children; } reader;
typedef struct cursor { reader *of; } cursor;
static int open_readers, open_cursors;
reader *reader_new(const char *input, size_t length) {
    reader *made = calloc(1, sizeof *made);
    made->input = input, made->length = length, open_readers++;
    return made;
}
int reader_set(reader *it, const char *input, size_t length) { it->input = input, it->length = length, it->at = 0; return 0; }
int reader_next(reader *it) { return it->at < it->length ? (unsigned char)it->input[it->at++] : -1; }
int reader_close(reader *it) { if (it->children) return 5; open_readers--; free(it); return 0; }
cursor *cursor_new(reader *of) { cursor *made = malloc(sizeof *made); made->of = of, of->children++, open_cursors++; return made; }
int cursor_next(cursor *it) { return reader_next(it->of); }
void cursor_close(cursor *it) { it->of->children--; open_cursors--; free(it); }
cursor *last_orphan; /* so that what is not freed is not leaked */
void cursor_orphan(cursor *it) { it->of->children--; last_orphan = it; }
int counts(int *cursors) { *cursors = open_cursors; return open_readers; }

/* Bytes under a text declaration. */
int raw_bytes(char *to, int size) { memcpy(to, "ok\xff\xfe", 5 < size ? 5 : size); return 4; }
