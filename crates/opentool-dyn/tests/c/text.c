/* Text and bytes, in and out, counted and not; memory that has to be freed; errno; codes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long length_of(const char *text) { return text ? (long)strlen(text) : -1; }

/* The caller's copy may be written to. */
int shout(char *text) {
    int changed = 0;
    for (; *text; text++)
        if (*text >= 'a' && *text <= 'z') *text -= 32, changed++;
    return changed;
}

void greet(const char *name, char *greeting) { sprintf(greeting, "Hello, %s!", name); }

int repeat(char letter, int count, char *text, int size) {
    if (count >= size) return -1;
    memset(text, letter, (size_t)count);
    text[count] = 0;
    return count;
}

/* No NUL: the length is an out parameter. */
void counted(const unsigned char *from, unsigned long length, unsigned char *to, unsigned long *written) {
    for (unsigned long i = 0; i < length; i++) to[i] = from[length - 1 - i];
    *written = length;
}

/* How large the buffer is said to be, without touching it. */
unsigned long size_given(unsigned char *buffer, unsigned long *size) { return buffer ? *size : 0; }

void unterminated(char *text) { memset(text, 'x', 16); }
void overlong(char *text, int *length) { text[0] = 'x'; *length = 17; }
void negative(char *text, int *length) { text[0] = 'x'; *length = -1; }

const char *constant(void) { return "constant"; }
const char *no_text(void) { return NULL; }
const char *latin1(void) { return "caf\xe9"; }
const unsigned char *unsigned_text(void) { return (const unsigned char *)"unsigned"; }
const char *wild_pointer(void) { return (const char *)16; }
int *static_value(int v) { static int kept; kept = v; return &kept; }
int *no_value(void) { return NULL; }
const double *table(int *count) { static const double values[] = {1.5, 2.5, 3.5}; *count = 3; return values; }

/* 3 MiB of two-byte characters and one byte before, so that a cut falls into one. */
const char *endless(void) {
    static char text[3 << 20];
    text[0] = 'x';
    for (size_t i = 1; i + 2 < sizeof text; i += 2) text[i] = '\xc3', text[i + 1] = '\xa9';
    return text;
}

static int live;
char *last_duplicate; /* so that what is not freed is not leaked */
char *duplicate(const char *text) { live++; return last_duplicate = strdup(text); }
void release(void *memory) { live--; free(memory); }
int count_live(void) { return live; }

int fail_with(int error) { errno = error; return error ? -1 : 0; }

int status(int code) { return code; }
/* Says how much it would have needed, as many do. */
int status_with_length(int code, char *text, int *length) { text[0] = 'x'; *length = code ? 1000 : 1; return code; }
int status_with_text(int code, char *text) { sprintf(text, "details of %d", code); return code; }

int sum_of(int count, ...) {
    va_list list;
    int sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) sum += va_arg(list, int);
    va_end(list);
    return sum;
}

double average_of(int count, ...) {
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) sum += va_arg(list, double);
    va_end(list);
    return sum / count;
}

/* Handles: a counter that lives in the library. */
typedef struct { long magic; int value; } counter;
static int open_counters;
counter *counter_new(int value) {
    if (value < 0) return NULL;
    counter *made = malloc(sizeof *made);
    made->magic = 0x636f756e, made->value = value, open_counters++;
    return made;
}
int counter_open(int value, counter **out) { *out = counter_new(value); return *out ? 0 : 7; }
int counter_add(counter *it, int more) { return it->value += more; }
int counter_is_null(const counter *it) { return it == NULL; }
/* Refuses to close a counter that is not zero. */
int counter_close(counter *it) {
    if (it->value) return 5;
    open_counters--;
    free(it);
    return 0;
}
int counters_open(void) { return open_counters; }
counter *the_counter(void) { static counter one = {0x636f756e, 1}; return &one; }
typedef struct { int id; } token;
token *token_new(void) { static token one; return &one; }

static int initialised;
void initialise(void) { initialised++; }
int fail_to_initialise(void) { return 3; }
int initialisations(void) { return initialised; }
int some_data = 42;
