/* What libraries do to the process that loads them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int add_one(int x) { return x + 1; }

/* Crashes. */

int null_dereference(void) { return *(volatile int *)0; }
int abort_now(void) { fprintf(stderr, "about to abort\n"); abort(); }
int divide(int a, int b) { volatile int divisor = b; return a / divisor; }
int exit_now(int status) { exit(status); }

static int deeper(volatile int *above) {
    volatile int here[1024];
    here[0] = above ? above[0] + 1 : 0;
    if (here[0] < 0) return 0;
    return deeper(here) + here[0];
}
int stack_overflow(void) { return deeper(NULL); }

int heap_smash(void) {
    char *block = malloc(24);
    memset(block, 'x', 24 + 4096);
    char *other = malloc(100000);
    free(block);
    free(other);
    block = malloc(24);
    memset(block, 'x', 64);
    free(block);
    abort();
}

int __attribute__((noinline, optimize("O0"), optimize("stack-protector-all"))) stack_smash(int length) {
    char small[8];
    volatile char *at = small;
    for (int i = 0; i < length; i++) at[i] = 'x';
    return at[0];
}

int one_past(char *out) { memset(out, 0, 16); out[16] = 1; return 0; }

/* Hangs. */

int busy_loop(void) { volatile unsigned n = 0; for (;;) n++; return 0; }
int sleep_for(int milliseconds) {
    struct timespec time = { milliseconds / 1000, (milliseconds % 1000) * 1000000L };
    nanosleep(&time, NULL);
    return milliseconds;
}
int stop_itself(void) { raise(SIGSTOP); return 0; }

static void wait_for_ever(int signal) { (void)signal; for (;;) pause(); }
int own_handler(void) {
    signal(SIGSEGV, wait_for_ever);
    return *(volatile int *)0;
}

/* Bombs. */

int malloc_bomb(void) {
    for (;;) {
        char *block = malloc(16 << 20);
        memset(block, 1, 16 << 20);
    }
}
int fork_bomb(void) {
    int failed = 0;
    for (int i = 0; i < 100; i++) {
        int child = fork();
        if (child == 0) _exit(0);
        if (child < 0) failed++;
    }
    return failed;
}
static void *idle(void *unused) { (void)unused; for (;;) pause(); return NULL; }
int thread_bomb(void) {
    pthread_t thread;
    int started = 0;
    while (started < 100000 && pthread_create(&thread, NULL, idle, NULL) == 0) started++;
    return started;
}
int descriptor_bomb(void) {
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0) opened++;
    return opened;
}

/* Noise, and hands in the worker's own things. */

int print_much(int megabytes) {
    static char line[1024];
    memset(line, 'n', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < megabytes * 1024; i++) fwrite(line, 1, sizeof line, stdout);
    fflush(stdout);
    return megabytes;
}
static void *print(void *unused) {
    static char much[4096];
    (void)unused;
    for (;;) if (write(1, much, sizeof much) < 0) pause();
    return NULL;
}
int print_for_ever(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, print, NULL);
    print(NULL);
    return 0;
}
int close_everything(void) {
    for (int fd = 0; fd < 1024; fd++) close(fd);
    close_range(0, ~0U, 0);
    for (int fd = 0; fd < 1024; fd++) dup2(1023, fd);
    return 7;
}
int forge_frame(void) {
    char frame[64] = { 8, 0, 0, 0, 1 };
    int written = 0;
    for (int fd = 3; fd < 1024; fd++) written += write(fd, frame, sizeof frame) > 0;
    return written;
}

static void *crash_later(void *unused) {
    (void)unused;
    struct timespec time = { 0, 30000000 };
    nanosleep(&time, NULL);
    *(volatile int *)0 = 1;
    return NULL;
}
int crash_after_reply(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, crash_later, NULL);
}

/* Other processes. */

int kill_parent(void) {
    kill(getppid(), SIGKILL);
    syscall(SYS_tgkill, getppid(), getppid(), SIGKILL);
    kill(-1, SIGKILL);
    return kill(0, SIGKILL);
}
int start_process(void) {
    int child = fork();
    if (child == 0) _exit(0);
    if (child < 0) return errno;
    waitpid(child, NULL, 0);
    return 0;
}
int leave_daemon(void) {
    int child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            for (int fd = 0; fd < 256; fd++) close(fd);
            for (;;) pause();
        }
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
    return child > 0 ? 0 : errno;
}
int run_command(const char *command) { errno = 0; return system(command) == 0 ? 0 : errno ? errno : 1; }
int start_threads(int count) {
    pthread_t threads[64];
    int done = 0;
    for (int i = 0; i < count && i < 64; i++)
        if (pthread_create(&threads[i], NULL, (void *(*)(void *))add_one, NULL) == 0) pthread_join(threads[i], NULL), done++;
    return done;
}

/* Files and the network. */

int read_file(const char *path) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}
int write_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) return errno;
    int written = write(fd, "x", 1) == 1 ? 0 : errno;
    close(fd);
    return written;
}
/* As a database does: to write where that may be, else to read. */
int open_either_way(const char *path) {
    int fd = open(path, O_RDWR);
    if (fd < 0) fd = open(path, O_RDONLY);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}
/* A file that shrinks while it is read. */
int shrinking_file(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) return errno;
    volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0) != 0) return errno;
    return map[0];
}
int change_times(const char *path) {
    struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
    return utimensat(AT_FDCWD, path, times, 0) == 0 ? 0 : errno;
}
int remove_file(const char *path) { return unlink(path) == 0 ? 0 : errno; }
int change_mode(const char *path) { return chmod(path, 0777) == 0 ? 0 : errno; }
/* As programs do that throw their output away. */
int write_to_null(void) {
    FILE *file = fopen("/dev/null", "w");
    if (!file || fputs("x", file) < 0 || fclose(file) != 0) return errno;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_GETFD) != FD_CLOEXEC || write(fd, "x", 1) != 1) return errno ? errno : -1;
    close(fd);
    errno = 0;
    return unlink("/dev/null") == 0 ? -2 : 0;
}
int connect_to(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return errno;
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int failed = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? 0 : errno;
    close(fd);
    return failed;
}
const char *variable(const char *name) { return getenv(name); }
extern char **environ;
int count_variables(void) { int count = 0; while (environ[count]) count++; return count; }
int count_descriptors(void) {
    int count = 0;
    for (int fd = 3; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* State. */

static int counter;
static void *try_network(void *unused) {
    (void)unused;
    for (;;) { int fd = socket(AF_INET, SOCK_STREAM, 0); if (fd >= 0) close(fd); usleep(1000); }
    return NULL;
}
int try_network_for_ever(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, try_network, NULL);
}
int open_program(void) { errno = 0; FILE *file = popen("true", "r"); if (!file) return errno; pclose(file); return 0; }

int count(void) { return ++counter; }
int process_id(void) { return getpid(); }
void *object_new(void) { return malloc(16); }
int object_use(void *object) { return object != NULL; }

/* A file in memory that shrinks while it is read. */
int shrinking_map(void) {
    int fd = memfd_create("shrinking", 0);
    if (fd < 0) return errno;
    if (ftruncate(fd, 4096) != 0) return errno;
    volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0) != 0) return errno;
    return map[0];
}
