/* Simulates a disk that fails, becomes full or loses power, for one process. Preloaded into `kb` with
 * LD_PRELOAD, it wraps the libc functions that change files below one directory.
 *
 *   KB_FAULT_DIR=/abs     the directory, without links in its path; required
 *   KB_FAULT_OPS=a,b      which calls count: write truncate create mkdir rename unlink sync read open;
 *                         by default all but read and open
 *   KB_FAULT_FILE=text    only files whose path, with a $ at its end, contains it
 *   KB_FAULT_THREAD=name  only calls of threads of that name
 *   KB_FAULT_AT=n         at the n-th of these calls (from 1), apply KB_FAULT_DO:
 *   KB_FAULT_DO=          kill-before, kill-after   SIGKILL to this process
 *                         EIO ENOSPC EDQUOT EFBIG   the call fails with this error and has no effect
 *                         short                     half of a write, then ENOSPC
 *                         fill                      the file KB_FAULT_BALLAST grows to fill the disk, then
 *                                                   the call is made
 *   KB_FAULT_TIMES=k      number of consecutive calls (default 1; 0 means all)
 *   KB_FAULT_CHANCE=p     instead of KB_FAULT_AT: each call with probability p/1000, from KB_FAULT_SEED
 *   KB_FAULT_LOG=file     log of the calls in order, with the written bytes and the output on stdout:
 *                         `PID TID NANOSECONDS OP OFFSET LENGTH PATH\n` and LENGTH bytes. A sync
 *                         has two records, `sync` before it and `synced` (or `unsynced`) after it.
 *
 * Each process has its own counters. Threads take turns, except during a sync. Writes through shared
 * memory (SQLite's -shm) and raw system calls are not seen; `replay` in the tests checks that a log
 * describes all changes of the files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE = 2, CREATE = 4, MKDIR = 8, RENAME = 16, UNLINK = 32, SYNC = 64, READ = 128, OPEN = 256 };
static const char *const OPS[] = {"write", "truncate", "create", "mkdir", "rename", "unlink", "sync", "read", "open"};
enum deed { NOTHING, KILL_BEFORE, KILL_AFTER, FAIL, SHORT, FILL };

static const char *root, *file, *thread, *ballast;
static size_t root_length;
static unsigned ops = WRITE | TRUNCATE | CREATE | MKDIR | RENAME | UNLINK | SYNC;
static long at, times = 1, chance, count;
static unsigned long long dice;
static enum deed deed;
static int error, log_fd = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* The real functions. */
#define REAL(type, name, ...) static type (*real_##name)(__VA_ARGS__)
REAL(int, open, const char *, int, ...);
REAL(int, open64, const char *, int, ...);
REAL(int, openat, int, const char *, int, ...);
REAL(ssize_t, write, int, const void *, size_t);
REAL(ssize_t, writev, int, const struct iovec *, int);
REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
REAL(ssize_t, read, int, void *, size_t);
REAL(ssize_t, pread, int, void *, size_t, off_t);
REAL(ssize_t, pread64, int, void *, size_t, off64_t);
REAL(int, ftruncate, int, off_t);
REAL(int, ftruncate64, int, off64_t);
REAL(int, fsync, int);
REAL(int, fdatasync, int);
REAL(int, rename, const char *, const char *);
REAL(int, unlink, const char *);
REAL(int, mkdir, const char *, mode_t);
REAL(int, rmdir, const char *);
REAL(int, openat64, int, const char *, int, ...);
REAL(int, unlinkat, int, const char *, int);
REAL(int, linkat, int, const char *, int, const char *, int);

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name)
    FIND(open), FIND(open64), FIND(openat), FIND(write), FIND(writev), FIND(pwrite), FIND(pwrite64), FIND(read);
    FIND(pread), FIND(pread64), FIND(ftruncate), FIND(ftruncate64), FIND(fsync), FIND(fdatasync), FIND(rename);
    FIND(unlink), FIND(mkdir), FIND(rmdir), FIND(openat64), FIND(unlinkat), FIND(linkat);
    if (!(root = getenv("KB_FAULT_DIR"))) return;
    root_length = strlen(root);
    file = getenv("KB_FAULT_FILE");
    thread = getenv("KB_FAULT_THREAD");
    ballast = getenv("KB_FAULT_BALLAST");
    at = number("KB_FAULT_AT", 0), times = number("KB_FAULT_TIMES", 1), chance = number("KB_FAULT_CHANCE", 0);
    dice = (unsigned long long)number("KB_FAULT_SEED", 1) * 2654435761u + 88172645463325252u;
    const char *named = getenv("KB_FAULT_OPS"), *what = getenv("KB_FAULT_DO"), *path = getenv("KB_FAULT_LOG");
    for (unsigned i = 0; named && i < sizeof OPS / sizeof *OPS; i++) {
        if (i == 0) ops = 0;
        if (strstr(named, OPS[i])) ops |= 1u << i;
    }
    static const struct { const char *name; enum deed deed; int error; } deeds[] = {
        {"kill-before", KILL_BEFORE, 0}, {"kill-after", KILL_AFTER, 0}, {"short", SHORT, ENOSPC}, {"fill", FILL, 0},
        {"EIO", FAIL, EIO}, {"ENOSPC", FAIL, ENOSPC}, {"EDQUOT", FAIL, EDQUOT}, {"EFBIG", FAIL, EFBIG}};
    for (unsigned i = 0; what && i < sizeof deeds / sizeof *deeds; i++)
        if (!strcmp(what, deeds[i].name)) deed = deeds[i].deed, error = deeds[i].error;
    if (path) log_fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
    return root && path && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path of an open file below the directory, or NULL. */
static int find(int fd, char path[PATH_MAX]) {
    char link[64];
    if (!root || fd < 0) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

/* The same for a name below an open directory. */
static const char *find_at(int fd, const char *name, char path[PATH_MAX]) {
    char folder[PATH_MAX];
    if (!name || *name == '/') return name;
    if (!find(fd, folder) || strlen(folder) + strlen(name) + 2 > PATH_MAX) return NULL;
    return strcat(strcat(strcpy(path, folder), "/"), name);
}

static void note(const char *op, long long offset, const void *bytes, size_t length, const char *path) {
    if (log_fd < 0) return;
    int before = errno;
    struct timespec now;
    char head[PATH_MAX + 128];
    clock_gettime(CLOCK_MONOTONIC, &now);
    int size = snprintf(head, sizeof head, "%d %ld %lld %s %lld %zu %s\n", getpid(), (long)syscall(SYS_gettid),
                        now.tv_sec * 1000000000LL + now.tv_nsec, op, offset, length, path);
    struct iovec parts[] = {{head, size}, {(void *)bytes, length}};
    if (real_writev(log_fd, parts, 2) != (ssize_t)(size + length)) abort();
    errno = before;
}

static void fill(void) {
    static char block[4096];
    int fd = real_open(ballast ? ballast : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (long n = 0; n < 65536 && real_write(fd, block, sizeof block) > 0;) n++;
    close(fd);
}

static int has(const char *path, const char *text) {
    char whole[PATH_MAX + 1];
    return strstr(strcat(strcpy(whole, path), "$"), text) != NULL;
}

static int is_named(const char *wanted) {
    char name[16] = "";
    return !prctl(PR_GET_NAME, name) && !strcmp(name, wanted);
}

/* Whether this call fails. Called by the thread whose turn it is; kills and fills immediately. */
static enum deed due(unsigned op, const char *path) {
    if (!(ops & op) || (file && !has(path, file)) || (thread && !is_named(thread))) return NOTHING;
    long here = ++count;
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    int hit = chance ? (long)(dice % 1000) < chance : at && here >= at && (!times || here < at + times + (deed == SHORT));
    if (!hit) return NOTHING;
    if (deed == KILL_BEFORE) kill(getpid(), SIGKILL);
    if (deed == FILL) fill();
    return deed == SHORT && here != at && !chance ? FAIL : deed;
}

static void after(enum deed done) {
    if (done == KILL_AFTER) kill(getpid(), SIGKILL);
    pthread_mutex_unlock(&turn);
}

/* One call within its turn: `path` is the changed file, CALL the real call, NOTE the log entry after it. */
#define GUARDED(type, op, path, CALL, NOTE)                                                     \
    pthread_mutex_lock(&turn);                                                                  \
    enum deed now = due(op, path);                                                              \
    type result = -1;                                                                           \
    if (now == FAIL) errno = error;                                                             \
    else result = (CALL);                                                                       \
    if (result >= 0) NOTE;                                                                      \
    after(now);                                                                                 \
    return result

#define HALF(n) (now == SHORT && (n) > 1 ? (n) / 2 : (n))

static long long position(int fd) {
    return lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    char path[PATH_MAX];
    if (fd == STDOUT_FILENO && log_fd >= 0) {
        ssize_t said = real_write(fd, bytes, n);
        if (said > 0) note("said", 0, bytes, said, "-");
        return said;
    }
    if (!find(fd, path)) return real_write(fd, bytes, n);
    long long offset = position(fd);
    GUARDED(ssize_t, WRITE, path, real_write(fd, bytes, HALF(n)), note("write", offset, bytes, result, path));
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    char path[PATH_MAX];
    if (!find(fd, path) && !(fd == STDOUT_FILENO && log_fd >= 0)) return real_writev(fd, parts, n);
    return n > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

#define PWRITE(name, offset_type)                                                               \
    ssize_t name(int fd, const void *bytes, size_t n, offset_type offset) {                     \
        char path[PATH_MAX];                                                                    \
        if (!find(fd, path)) return real_##name(fd, bytes, n, offset);                          \
        GUARDED(ssize_t, WRITE, path, real_##name(fd, bytes, HALF(n), offset),                  \
                note("write", offset, bytes, result, path));                                    \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE_TO(name, offset_type)                                                          \
    int name(int fd, offset_type length) {                                                      \
        char path[PATH_MAX];                                                                    \
        if (!find(fd, path)) return real_##name(fd, length);                                    \
        GUARDED(int, TRUNCATE, path, real_##name(fd, length), note("truncate", length, "", 0, path)); \
    }
TRUNCATE_TO(ftruncate, off_t)
TRUNCATE_TO(ftruncate64, off64_t)

/* A write during a sync of another thread may not be part of that sync, so a sync has two records. */
static int synced(int fd, int (*sync)(int)) {
    char path[PATH_MAX];
    if (!find(fd, path)) return sync(fd);
    pthread_mutex_lock(&turn);
    enum deed now = due(SYNC, path);
    note("sync", 0, "", 0, path);
    pthread_mutex_unlock(&turn);
    if (now == FAIL) errno = error;
    int result = now == FAIL ? -1 : sync(fd);
    pthread_mutex_lock(&turn);
    note(result ? "unsynced" : "synced", 0, "", 0, path);
    after(now);
    return result;
}
int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }

static void note_open(int is_new, int flags, const char *path) {
    if (is_new) note("create", 0, "", 0, path);
    else if (flags & O_TRUNC) note("truncate", 0, "", 0, path);
}

#define OPENED(CALL)                                                                            \
    va_list rest;                                                                               \
    va_start(rest, flags);                                                                      \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                     \
    va_end(rest);                                                                               \
    if (!is_ours(path)) return CALL;                                                            \
    int before = errno, is_new = flags & O_CREAT && access(path, F_OK);                         \
    errno = before;                                                                             \
    GUARDED(int, is_new ? CREATE : OPEN, path, CALL, note_open(is_new, flags, path))

int open(const char *path, int flags, ...) { OPENED(real_open(path, flags, mode)); }
int open64(const char *path, int flags, ...) { OPENED(real_open64(path, flags, mode)); }
#define OPENED_AT(name)                                                                         \
    int name(int at_fd, const char *below, int flags, ...) {                                    \
        char found[PATH_MAX];                                                                   \
        const char *path = find_at(at_fd, below, found);                                        \
        OPENED(real_##name(at_fd, below, flags, mode));                                         \
    }
OPENED_AT(openat)
OPENED_AT(openat64)

int rename(const char *from, const char *to) {
    if (!is_ours(from) && !is_ours(to)) return real_rename(from, to);
    GUARDED(int, RENAME, from, real_rename(from, to), note("rename", 0, to, strlen(to), from));
}

#define NAMED(op, text, name, ...)                                                              \
    if (!is_ours(path)) return real_##name(__VA_ARGS__);                                        \
    GUARDED(int, op, path, real_##name(__VA_ARGS__), note(text, 0, "", 0, path))

int unlink(const char *path) { NAMED(UNLINK, "unlink", unlink, path); }
int rmdir(const char *path) { NAMED(UNLINK, "rmdir", rmdir, path); }
int mkdir(const char *path, mode_t mode) { NAMED(MKDIR, "mkdir", mkdir, path, mode); }

int unlinkat(int at_fd, const char *below, int flags) {
    char found[PATH_MAX];
    const char *path = find_at(at_fd, below, found);
    if (!is_ours(path)) return real_unlinkat(at_fd, below, flags);
    GUARDED(int, UNLINK, path, real_unlinkat(at_fd, below, flags),
            note(flags & AT_REMOVEDIR ? "rmdir" : "unlink", 0, "", 0, path));
}

/* A hard link counts as a created file. The log does not record its target; `replay` accepts none. */
int linkat(int at_fd, const char *from, int to_fd, const char *to, int flags) {
    char found[PATH_MAX];
    const char *path = find_at(to_fd, to, found);
    if (!is_ours(path)) return real_linkat(at_fd, from, to_fd, to, flags);
    GUARDED(int, CREATE, path, real_linkat(at_fd, from, to_fd, to, flags), note("linked", 0, "", 0, path));
}

#define READING(CALL)                                                                           \
    char path[PATH_MAX];                                                                        \
    if (!(ops & READ) || !find(fd, path)) return CALL;                                          \
    GUARDED(ssize_t, READ, path, CALL, (void)0)

ssize_t read(int fd, void *into, size_t n) { READING(real_read(fd, into, n)); }
ssize_t pread(int fd, void *into, size_t n, off_t offset) { READING(real_pread(fd, into, n, offset)); }
ssize_t pread64(int fd, void *into, size_t n, off64_t offset) { READING(real_pread64(fd, into, n, offset)); }
