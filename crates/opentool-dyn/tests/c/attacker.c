/* A library that knows how its worker is made, and uses that. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPLIES 65
#define SLOTS 256

static int counter;
int add_one(int x) { return x + 1; }
int count(void) { return ++counter; }
int read_count(void) { return counter; }
int process_id(void) { return getpid(); }
int abort_now(void) { abort(); }
int rest_for(int milliseconds) {
    struct timespec time = { milliseconds / 1000, (milliseconds % 1000) * 1000000L };
    nanosleep(&time, NULL);
    return milliseconds;
}
double divide_doubles(double a, double b) { volatile double divisor = b; return a / divisor; }

/* The page that the worker shares with its parent: a word for each call. */
static volatile uint64_t *page(void) {
    static volatile uint64_t *found;
    char line[512];
    FILE *maps = found ? NULL : fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "opentool-page")) found = (volatile uint64_t *)strtoull(line, NULL, 16);
    if (maps) fclose(maps);
    return found;
}

/* The last reply, as the worker keeps it in memory: a length, a kind, a nonce, the number of the call. */
struct header { uint32_t length; uint8_t kind, notes, none[2]; uint64_t nonce, id; };
static char needle[] = "?eedle-in-the-worker";
const char *tell(void) { needle[0] = 'n'; return needle; }
static struct header last_reply(void) {
    struct header header = { 0 };
    char line[512], permissions[8];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    needle[0] = '?';
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) != 3 || strncmp(permissions, "rw", 2) != 0) continue;
        if (strstr(line, "opentool-page") || strstr(line, "[v")) continue;
        for (char *at = (char *)start + sizeof header; at + 64 < (char *)end; at++)
            if (at[0] == '{' && memcmp(at + 12, "eedle-in-the-worker", 19) == 0) {
                memcpy(&header, at - sizeof header, sizeof header);
                if (header.kind == 1 && header.length > 20 && header.length < 64 && header.nonce) goto done;
            }
    }
    header.nonce = 0;
done:
    if (maps) fclose(maps);
    return header;
}

/* The pipe of the replies by another descriptor, which the sandbox lets pass. */
static int copied(void) {
    static int fd = -1;
    if (fd < 0) fd = dup(REPLIES);
    return fd;
}

static void append(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1) abort();
    close(fd);
}

int note_down(const char *path) { append(path); return 0; }

/* Says of every call that began that it did not, and crashes. */
int rewind_and_crash(const char *path) {
    append(path);
    for (int slot = 0; slot < SLOTS; slot++)
        if ((page()[slot] & 3) == 1) page()[slot] -= 1;
    abort();
}
int smash_page(void) { memset((void *)page(), 0x5a, SLOTS * 8); return 7; }
static int smash(int fd) { return write(fd, "not a frame of the worker, and longer than one", 46) == 46 ? 7 : 0; }
int smash_pipe(void) { return smash(REPLIES); }
int smash_copy(void) { return smash(copied()); }

/* Says of a call that is not answered yet that it was not made. */
int forge_skip(const char *path) {
    struct header header = last_reply();
    append(path);
    header.length = 0, header.kind = 3, header.notes = 0, header.id += SLOTS;
    return header.nonce && write(copied(), &header, sizeof header) == sizeof header ? 7 : 0;
}
/* Answers itself, which a library can do anyway. */
int forge_own(void) {
    struct header header = last_reply();
    char frame[sizeof header + 13];
    header.length = 13, header.notes = 0, header.id += SLOTS;
    memcpy(frame, &header, sizeof header);
    memcpy(frame + sizeof header, "{\"result\":66}", 13);
    return header.nonce && write(copied(), frame, sizeof frame) == sizeof frame ? 7 : 0;
}
/* Answers calls that wait behind this one. */
int forge_later(void) {
    struct header header = last_reply();
    char frame[sizeof header + 13];
    uint64_t id = header.id;
    if (!header.nonce) return 0;
    header.length = 13, header.notes = 0;
    for (int next = 2; next < 12; next++)
        for (int slot = 0; slot < 24; slot++) {
            header.id = (id / SLOTS + next) * SLOTS + slot;
            memcpy(frame, &header, sizeof header);
            memcpy(frame + sizeof header, "{\"result\":66}", 13);
            if (write(copied(), frame, sizeof frame) < 0) return 0;
        }
    return 7;
}
/* Announces a reply of 900 MB, and sends it. */
int forge_huge(void) {
    static char zeroes[1 << 20];
    struct header header = last_reply();
    if (!header.nonce) return 0;
    header.length = 900u << 20, header.notes = 0, header.id += SLOTS;
    if (write(copied(), &header, sizeof header) != sizeof header) return 0;
    for (int i = 0; i < 900; i++)
        if (write(copied(), zeroes, sizeof zeroes) < 0) return 0;
    return 7;
}

/* Leaves the rounding as nothing else expects it. */
int change_rounding(void) { return fesetround(FE_UPWARD); }

/* Threads that stay. */
static void *idle(void *unused) { (void)unused; for (;;) pause(); return NULL; }
static void *spin(void *unused) { (void)unused; for (volatile unsigned n = 0;; n++); return NULL; }
static int start(int threads, void *(*code)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    int started = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    while (started < threads && pthread_create(&thread, &attributes, code, NULL) == 0) started++;
    return started;
}
int leave_idle(int threads) { return start(threads, idle); }
int leave_spinning(int threads) { return start(threads, spin); }
int wait_with(int threads) {
    start(threads, idle);
    for (;;) pause();
    return 0;
}
/* A thread that crashes after the reply, during whatever call then runs. */
static void *crash_soon(void *unused) {
    (void)unused;
    struct timespec time = { 0, 3000000 };
    nanosleep(&time, NULL);
    *(volatile int *)0 = 1;
    return NULL;
}
int crash_later(void) { return start(1, crash_soon); }
int burn(void) { spin(NULL); return 0; }
