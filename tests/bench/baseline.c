/* The same work as one captured call, in C: what the benchmarks compare with.
 *
 *   baseline call   child=PATH calls=N warm_up=N in_flight=N memory_mib=N descriptors=N
 *   baseline stream child=PATH bytes=N
 *   baseline ping   child=PATH calls=N warm_up=N in_flight=N
 *   baseline discover child=DIR calls=N warm_up=N
 *
 * A call: three pipes, posix_spawn(3) into a process group of its own, 200 bytes in, both streams
 * read to their end with poll(2), the status reaped. With more than one in flight, each has a thread.
 * A stream: one pipe, read in pieces of 64 KiB and thrown away.
 * A ping: 200 bytes to a child that stays, and as many back; with several in flight all of them in one
 * write, and the next ones when all are back.
 * A discovery: the names in DIR, sorted, and the `plugin.json` of each read into one buffer.
 *
 * Prints lines of a name and a number. `posix_spawn.rs` is the same program in Rust.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_BYTES = 200, PIECE_BYTES = 64 * 1024 };

extern char **environ;

static const char *child;
static long calls, warm_up, in_flight = 1, memory_mib, descriptors, bytes;
static const struct {
    const char *name;
    long *value;
} numbers[] = {
    {"calls", &calls},           {"warm_up", &warm_up},         {"in_flight", &in_flight},
    {"memory_mib", &memory_mib}, {"descriptors", &descriptors}, {"bytes", &bytes},
};

static double *latencies;
static atomic_long next_call;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now_us(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return (double)it.tv_sec * 1e6 + (double)it.tv_nsec / 1e3;
}

static double cpu_us(int who) {
    struct rusage it;
    getrusage(who, &it);
    return (double)(it.ru_utime.tv_sec + it.ru_stime.tv_sec) * 1e6 +
           (double)(it.ru_utime.tv_usec + it.ru_stime.tv_usec);
}

/* Starts `child`; a negative descriptor leaves that stream as it is. */
static pid_t start(const int fds[3], const char *argument) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) posix_spawn_file_actions_adddup2(&actions, fds[i], i);

    sigset_t reset;
    sigemptyset(&reset);
    sigaddset(&reset, SIGPIPE);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &reset);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);

    char *arguments[] = {(char *)child, (char *)argument, NULL};
    pid_t pid;
    errno = posix_spawn(&pid, child, &actions, &attributes, arguments, environ);
    if (errno) fail("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

static void call(void) {
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) fail("pipe2");
    pid_t pid = start((int[3]){in[0], out[1], err[1]}, NULL);
    close(in[0]);
    close(out[1]);
    close(err[1]);

    char request[REQUEST_BYTES];
    memset(request, 'x', sizeof request);
    if (write(in[1], request, sizeof request) != sizeof request) fail("write");
    close(in[1]);

    char reply[4096];
    long received[2] = {0, 0};
    struct pollfd streams[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    for (int n_open = 2; n_open > 0;) {
        if (poll(streams, 2, -1) < 0) fail("poll");
        for (int i = 0; i < 2; i++) {
            if (!streams[i].revents) continue;
            ssize_t n = read(streams[i].fd, reply, sizeof reply);
            if (n < 0) fail("read");
            received[i] += n;
            if (n == 0) {
                close(streams[i].fd);
                streams[i].fd = -1; /* poll(2) passes over it */
                n_open--;
            }
        }
    }
    int status;
    if (waitpid(pid, &status, 0) != pid) fail("waitpid");
    if (status != 0 || received[0] != REQUEST_BYTES || received[1] != 0) {
        fprintf(stderr, "baseline: the child answered %ld bytes, status %d\n", received[0], status);
        exit(1);
    }
}

static void *keep_calling(void *unused) {
    for (;;) {
        long i = atomic_fetch_add(&next_call, 1);
        if (i >= calls) return unused;
        double began = now_us();
        call();
        latencies[i] = now_us() - began;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_calls(void) {
    for (long i = 0; i < descriptors; i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) fail("open /dev/null");
    if (memory_mib > 0) {
        size_t size = (size_t)memory_mib << 20;
        char *memory =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) fail("mmap");
        memset(memory, 1, size);
    }
    latencies = calloc((size_t)calls, sizeof *latencies);
    for (long i = 0; i < warm_up; i++) call();

    double began = now_us();
    double self = cpu_us(RUSAGE_SELF), children = cpu_us(RUSAGE_CHILDREN);
    if (in_flight == 1) {
        keep_calling(NULL);
    } else {
        pthread_t *threads = calloc((size_t)in_flight, sizeof *threads);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 256 * 1024);
        for (long i = 0; i < in_flight; i++)
            if (pthread_create(&threads[i], &attributes, keep_calling, NULL)) fail("thread");
        for (long i = 0; i < in_flight; i++) pthread_join(threads[i], NULL);
    }
    double elapsed = now_us() - began;
    self = cpu_us(RUSAGE_SELF) - self;
    children = cpu_us(RUSAGE_CHILDREN) - children;

    qsort(latencies, (size_t)calls, sizeof *latencies, ascending);
    printf("p50_us %.2f\n", latencies[calls / 2]);
    printf("per_second %.2f\n", (double)calls / elapsed * 1e6);
    printf("self_cpu_us %.2f\n", self / (double)calls);
    printf("children_cpu_us %.2f\n", children / (double)calls);
}

static long resident_bytes(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) return 0;
    while (fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
    fclose(status);
    return kib * 1024;
}

static void measure_stream(const char *wanted) {
    static char piece[PIECE_BYTES];
    memset(piece, 0, sizeof piece);
    long before = resident_bytes();
    double began = now_us();
    int out[2];
    if (pipe2(out, O_CLOEXEC)) fail("pipe2");
    pid_t pid = start((int[3]){-1, out[1], -1}, wanted);
    close(out[1]);
    long received = 0;
    ssize_t n;
    while ((n = read(out[0], piece, sizeof piece)) > 0) received += n;
    if (n < 0) fail("read");
    close(out[0]);
    int status;
    if (waitpid(pid, &status, 0) != pid) fail("waitpid");
    double elapsed = now_us() - began;
    if (status != 0 || received != bytes) {
        fprintf(stderr, "baseline: the child sent %ld bytes, status %d\n", received, status);
        exit(1);
    }
    printf("bytes_per_second %.0f\n", (double)received / elapsed * 1e6);
    printf("growth_bytes %ld\n", resident_bytes() - before);
}

static void ping(int to, int from, const char *requests, size_t size) {
    static char replies[PIECE_BYTES];
    if (write(to, requests, size) != (ssize_t)size) fail("write");
    for (size_t received = 0; received < size;) {
        ssize_t n = read(from, replies, sizeof replies);
        if (n <= 0) fail("read");
        received += (size_t)n;
    }
}

static void measure_pings(void) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe2");
    pid_t pid = start((int[3]){in[0], out[1], -1}, NULL);
    close(in[0]);
    close(out[1]);
    size_t size = (size_t)in_flight * REQUEST_BYTES;
    char *requests = malloc(size);
    if (!requests) fail("malloc");
    memset(requests, 'x', size);
    for (long i = 0; i < warm_up; i += in_flight) ping(in[1], out[0], requests, size);

    long rounds = (calls + in_flight - 1) / in_flight;
    latencies = calloc((size_t)rounds, sizeof *latencies);
    double began = now_us();
    double self = cpu_us(RUSAGE_SELF);
    for (long i = 0; i < rounds; i++) {
        double sent = now_us();
        ping(in[1], out[0], requests, size);
        latencies[i] = now_us() - sent;
    }
    double elapsed = now_us() - began;
    self = cpu_us(RUSAGE_SELF) - self;
    close(in[1]);
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) fail("waitpid");

    double n = (double)(rounds * in_flight);
    qsort(latencies, (size_t)rounds, sizeof *latencies, ascending);
    printf("p50_us %.2f\n", latencies[rounds / 2]);
    printf("per_second %.2f\n", n / elapsed * 1e6);
    printf("self_cpu_us %.2f\n", self / n);
    printf("children_cpu_us %.2f\n", cpu_us(RUSAGE_CHILDREN) / n);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void discover(void) {
    static char text[1 << 20];
    DIR *dir = opendir(child);
    if (!dir) fail("opendir");
    char **names = NULL;
    size_t n_names = 0, room = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
        if (n_names == room) {
            room = room ? 2 * room : 64;
            names = realloc(names, room * sizeof *names);
        }
        names[n_names++] = strdup(entry->d_name);
    }
    closedir(dir);
    qsort(names, n_names, sizeof *names, by_name);
    for (size_t i = 0; i < n_names; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s/plugin.json", child, names[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) fail("open");
        ssize_t n;
        while ((n = read(fd, text, sizeof text)) > 0) bytes += n;
        if (n < 0) fail("read");
        close(fd);
        free(names[i]);
    }
    free(names);
}

static void measure_discovery(void) {
    latencies = calloc((size_t)calls, sizeof *latencies);
    for (long i = 0; i < warm_up; i++) discover();
    for (long i = 0; i < calls; i++) {
        double began = now_us();
        discover();
        latencies[i] = now_us() - began;
    }
    qsort(latencies, (size_t)calls, sizeof *latencies, ascending);
    printf("p50_us %.2f\n", latencies[calls / 2]);
}

int main(int argc, char **argv) {
    const char *wanted = "0";
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) continue;
        *value++ = '\0';
        if (!strcmp(argv[i], "child")) child = value;
        if (!strcmp(argv[i], "bytes")) wanted = value;
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            if (!strcmp(argv[i], numbers[k].name)) *numbers[k].value = atol(value);
    }
    if (argc > 2 && child && !strcmp(argv[1], "call") && calls > 0 && in_flight > 0) {
        measure_calls();
    } else if (argc > 2 && child && !strcmp(argv[1], "stream")) {
        measure_stream(wanted);
    } else if (argc > 2 && child && !strcmp(argv[1], "ping") && calls > 0 && in_flight > 0 &&
               in_flight <= PIECE_BYTES / REQUEST_BYTES) {
        measure_pings();
    } else if (argc > 2 && child && !strcmp(argv[1], "discover") && calls > 0) {
        measure_discovery();
    } else {
        fprintf(stderr, "baseline: the arguments are at the top of baseline.c\n");
        return 2;
    }
    return 0;
}
