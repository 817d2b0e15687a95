/* Ways out of a sandbox that look at less than all system calls: each gives an error number, or 0 where it worked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int answer(long result) { return result < 0 ? errno : 0; }

/* Signals to others, by way of descriptors that signal their owner. */
static int own_pipe(void) {
    int ends[2];
    if (pipe(ends) != 0) return 0;
    return answer(fcntl(ends[0], F_SETOWN, getppid()));
}
static int own_pipe_by_struct(void) {
    int ends[2];
    struct f_owner_ex owner = { F_OWNER_PID, getppid() };
    if (pipe(ends) != 0) return 0;
    return answer(fcntl(ends[0], F_SETOWN_EX, &owner));
}
static int own_socket(void) {
    int ends[2], owner = getppid();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
    return answer(ioctl(ends[0], FIOSETOWN, &owner));
}
static int choose_signal(void) {
    int ends[2];
    if (pipe(ends) != 0) return 0;
    return answer(fcntl(ends[0], F_SETSIG, SIGKILL));
}

static int write_parent(void) {
    char byte = 0;
    struct iovec here = { &byte, 1 }, there = { &byte, 1 };
    return answer(process_vm_writev(getppid(), &here, 1, &there, 1, 0));
}

/* Calls that are younger than many a filter, and those of another calling convention. */
static int openat2_create(const char *path) {
    uint64_t how[3] = { O_CREAT | O_WRONLY, 0600, 0 };
    return answer(syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how));
}
static int clone3_process(void) {
    uint64_t arguments[11] = { 0 };
    arguments[4] = SIGCHLD;
    long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return answer(child);
}
static int run_memory(void) {
    int fd = memfd_create("program", 0);
    char *const none[] = { NULL };
    if (fd < 0) return errno;
    return answer(syscall(SYS_execveat, fd, "", none, none, AT_EMPTY_PATH));
}
static int limit_parent(void) {
    struct rlimit limit = { 1, 1 };
    return answer(prlimit(getppid(), RLIMIT_CPU, &limit, NULL));
}
static int pin_parent(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return answer(sched_setaffinity(getppid(), sizeof set, &set));
}
static int starve_parent(void) {
    struct sched_param parameter = { 0 };
    return answer(sched_setscheduler(getppid(), SCHED_IDLE, &parameter));
}

/* Other than by a refusal this fails on file systems without flags, too. */
static int change_flags(const char *path) {
    int fd = open(path, O_RDONLY), flags = 0x40;
    if (fd < 0) return errno == ENOENT ? 0 : errno;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0 && errno == EPERM ? EPERM : 0;
}

#ifdef __x86_64__
static int by_x32(const char *path) { return answer(syscall(0x40000000 | SYS_open, path, O_CREAT | O_WRONLY, 0600)); }
#endif

int escape(const char *way, const char *path) {
    errno = 0;
#define WAY(name, code) if (strcmp(way, name) == 0) return code
    WAY("own a pipe", own_pipe());
    WAY("own a pipe by a struct", own_pipe_by_struct());
    WAY("own a socket", own_socket());
    WAY("choose the signal", choose_signal());
    WAY("signal the parent", answer(kill(getppid(), 0)));
    WAY("signal the parent's thread", answer(syscall(SYS_tgkill, getppid(), getppid(), 0)));
    WAY("signal by a descriptor", answer(syscall(SYS_pidfd_open, getppid(), 0)));
    WAY("trace the parent", answer(ptrace(PTRACE_SEIZE, getppid(), 0, 0)));
    WAY("write the parent's memory", write_parent());
    WAY("limit the parent", limit_parent());
    WAY("slow the parent down", answer(setpriority(PRIO_PROCESS, getppid(), 19)));
    WAY("slow down all processes", answer(setpriority(PRIO_USER, 0, 19)));
    WAY("pin the parent", pin_parent());
    WAY("starve the parent", starve_parent());
    WAY("outlive the parent", answer(prctl(PR_SET_PDEATHSIG, 0)));
    WAY("leave the group", answer(setpgid(0, 0) == 0 ? setsid() : -1));
    WAY("type into the terminal", answer(ioctl(1, TIOCSTI, "x")) == EPERM ? EPERM : 0);
    WAY("shared memory", answer(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)));
    WAY("semaphores", answer(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600)));
    WAY("messages", answer(msgget(IPC_PRIVATE, IPC_CREAT | 0600)));
    WAY("a queue", answer(syscall(SYS_mq_open, "opentool-escape", O_CREAT | O_RDWR, 0600, NULL)));
    WAY("a ring", answer(syscall(SYS_io_uring_setup, 1, NULL)) == ENOSYS ? ENOSYS : 0);
    WAY("openat2", openat2_create(path));
    WAY("clone3", clone3_process());
    WAY("a program in memory", run_memory());
    WAY("a file in memory", answer(memfd_create("memory", 0)));
    WAY("watch a file", answer(inotify_init1(0)));
    WAY("lock a file", answer(flock(open(path, O_RDONLY), LOCK_EX | LOCK_NB)));
    WAY("change the flags", change_flags(path));
    WAY("the network's state", answer(open("/proc/self/net/tcp", O_RDONLY)));
    WAY("the network's state, by thread", answer(open("/proc/thread-self/net/tcp", O_RDONLY)));
    WAY("the mounts", answer(open("/proc/self/mountinfo", O_RDONLY)));
    WAY("the mounts, older", answer(open("/proc/self/mounts", O_RDONLY)));
    WAY("change the mode", answer(chmod(path, 0777)));
    WAY("change the mode, newer", answer(syscall(452, AT_FDCWD, path, 0777, 0)));
    WAY("change the times", answer(utimensat(AT_FDCWD, path, NULL, 0)));
    WAY("change attributes, newest", answer(syscall(469, AT_FDCWD, path, NULL, 0, 0)) == ENOSYS ? ENOSYS : 0);
#ifdef __x86_64__
    WAY("x32", by_x32(path));
#endif
    return 0;
}

/* The calls of 32-bit programs have numbers of their own: 8 is `creat`. */
int escape_by_32_bit(void) {
#ifdef __x86_64__
    static const char path[] = "/tmp/opentool-escape";
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) return -1;
    memcpy(low, path, sizeof path);
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(8), "b"((int)(intptr_t)low), "c"(0600) : "memory", "r8", "r9", "r10", "r11");
    return result;
#else
    abort();
#endif
}

int close_from(int first) { closefrom(first); return 7; }
int add_one(int x) { return x + 1; }

/* Waits until both are there, so that they run at the same time; then one of them is refused something. */
static volatile int together;
static int meet(void) {
    __sync_fetch_and_add(&together, 1);
    for (int i = 0; i < 5000 && together < 2; i++) usleep(1000);
    return together;
}
int refused_together(void) { int met = meet(); socket(AF_INET, SOCK_STREAM, 0); usleep(100000); return met; }
int innocent_together(void) { int met = meet(); usleep(50000); return met; }
