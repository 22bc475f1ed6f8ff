/*
 * The client of the control socket: a short-lived process. It opens the packet sockets for the shaper, because each takes the kernel about 10 ms
 * and the shaper must not wait.
 */
#include "../common/io.h"
#include "request.h"
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MANY = 16 /* links from which on each gets a shorter ring */, THREADS = 16, MAX_LINE = 512 /* bytes of a line that can be a put */ };

/* A link whose sockets must be opened. */
struct opening { long id; int mtu; struct end ends[2]; const char *problem[2]; int error[2]; };

static struct opening *openings;
static size_t opening_count, opening_next;
static bool many;

static int fail(const char *what) {
  dprintf(2, "labwright-shaper: %s: %s\n", what, strerror(errno));
  return 1;
}

static int connect_to(const char *lab, socklen_t *size, struct sockaddr_un *at) {
  *at = (struct sockaddr_un){.sun_family = AF_UNIX};
  int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "labwright-shaper/%s", lab);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)at, *size) == 0) return fd;
  close(fd);
  return -1;
}

/* Connects to the lab's shaper. Starts it if none runs. */
static int connect_or_start(const char *lab, bool start) {
  struct sockaddr_un at;
  socklen_t size;
  int fd = connect_to(lab, &size, &at);
  for (int tries = 0; fd < 0 && start && tries < 50; tries++) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -1;
    if (bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 64) == 0) {
      pid_t pid = fork();
      if (pid < 0) return -1;
      if (pid == 0) _exit(become_daemon(listener));
    }
    close(listener);
    fd = connect_to(lab, &size, &at);
    if (fd < 0) usleep(2000); /* another starter has the name and does not listen yet */
  }
  return fd;
}

int watch(const char *lab) {
  int fd = connect_or_start(lab, false);
  char c;
  if (fd >= 0 && write(fd, "watch\n", 6) == 6)
    while (read(fd, &c, 1) < 0 && errno == EINTR) {}
  return 3;
}

/* Reads until the shaper closes. Returns NULL if the answer is not complete, or if one side had no memory for it. */
static char *whole_answer(int fd) {
  size_t length = 0, room = 65536;
  char *text = malloc(room);
  for (ssize_t got; text && (got = read(fd, text + length, room - length - 1)) != 0;) {
    if (got < 0) return NULL;
    length += (size_t)got;
    if (room - length < 2) {
      char *more = realloc(text, room *= 2);
      if (!more) free(text);
      text = more;
    }
  }
  if (!text || length == 0 || text[length - 1] != '\n') return NULL;
  text[length] = 0;
  return text;
}

static void name_of(char name[16], char first, long id, int side) {
  snprintf(name, 16, "%c%ld%c", first, id, "ab"[side]);
}

static void *open_some(void *none) {
  for (;;) {
    size_t i = __atomic_fetch_add(&opening_next, 1, __ATOMIC_RELAXED);
    if (i >= opening_count * 2) return none;
    struct opening *o = &openings[i / 2];
    int side = (int)(i % 2);
    char name[16];
    name_of(name, 'p', o->id, side);
    o->problem[side] = end_open(&o->ends[side], name, o->mtu, many);
    o->error[side] = errno;
  }
}

/* Whether the shaper has the link with this MTU, on the devices that exist now. @list its links, each on a line between line ends */
static bool is_there(const char *list, long id, int mtu) {
  char name[2][16], have[96];
  for (int side = 0; side < 2; side++) name_of(name[side], 'p', id, side);
  snprintf(have, sizeof have, "\n%ld %d %d %d\n", id, mtu, device_index(name[0]), device_index(name[1]));
  return strstr(list, have);
}

/* Collects the request's put lines whose sockets must be opened. Returns false if there is no memory. */
static bool collect_openings(const char *request, const char *list) {
  size_t room = 0;
  for (const char *line = request, *end; *line; line = *end ? end + 1 : end) {
    end = strchrnul(line, '\n');
    char text[MAX_LINE];
    struct request r;
    /* Malformed lines are skipped: the shaper reports them. */
    if ((size_t)(end - line) >= sizeof text) continue;
    *(char *)mempcpy(text, line, (size_t)(end - line)) = 0;
    if (request_read(text, &r) || r.kind != PUT || is_there(list, r.id, r.mtu)) continue;
    if (opening_count == room) {
      struct opening *more = reallocarray(openings, room = room ? room * 2 : 64, sizeof *more);
      if (!more) return false;
      openings = more;
    }
    openings[opening_count++] = (struct opening){.id = r.id, .mtu = r.mtu, .ends = {{.fd = -1}, {.fd = -1}}};
  }
  return true;
}

static bool send_sockets(int fd, const struct opening *o) {
  char line[160], control[CMSG_SPACE(2 * sizeof(int))] = {0};
  const struct end *e = o->ends;
  int n = snprintf(line, sizeof line, "take %ld %d %zu %zu %zu %d %d\n", o->id, o->mtu, e->slot, e->slots, e->bytes, e[0].index, e[1].index);
  struct iovec piece = {line, (size_t)n};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *h = CMSG_FIRSTHDR(&message);
  *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(h), (int[]){e[0].fd, e[1].fd}, 2 * sizeof(int));
  return sendmsg(fd, &message, MSG_NOSIGNAL) == n;
}

static int open_sockets(const char *lab, const char *request) {
  int fd = connect_or_start(lab, true);
  if (fd < 0) return fail("the lab's shaper does not run and cannot be started");
  char *answer = send_all(fd, "list\n", 5) && shutdown(fd, SHUT_WR) == 0 ? whole_answer(fd) : NULL;
  if (!answer) return fail("the shaper's answer is not complete");
  close(fd);
  size_t length = strlen(answer) + 2;
  char *list = malloc(length);
  if (!list) return fail("no memory");
  snprintf(list, length, "\n%s", answer);
  if (!collect_openings(request, list)) return fail("no memory");
  size_t there = 0;
  for (const char *c = list; *c; c++) there += *c == '\n';
  many = there + opening_count > MANY;
  pthread_t threads[THREADS];
  int started = 0;
  while (started < THREADS && (size_t)started + 1 < opening_count * 2 && pthread_create(&threads[started], NULL, open_some, NULL) == 0) started++;
  open_some(NULL);
  while (started > 0) pthread_join(threads[--started], NULL);
  for (size_t i = 0; i < opening_count * 2; i++) {
    const struct opening *o = &openings[i / 2];
    if (o->problem[i % 2]) return errno = o->error[i % 2], fail(o->problem[i % 2]);
  }
  return 0;
}

int ask(const char *lab, const char *request, bool start) {
  if (strstr(request, "put ")) {
    int problem = open_sockets(lab, request);
    if (problem) return problem;
  }
  int fd = connect_or_start(lab, start);
  if (fd < 0) return start ? fail("the lab's shaper does not run and cannot be started") : 3;
  bool sent = true;
  for (size_t i = 0; i < opening_count && sent; i++) sent = send_sockets(fd, &openings[i]);
  sent = sent && send_all(fd, request, strlen(request)) && shutdown(fd, SHUT_WR) == 0;
  char *answer = sent ? whole_answer(fd) : NULL;
  if (!answer) return start ? fail("the shaper's answer is not complete") : 3;
  return fputs(answer, stdout) < 0 || fflush(stdout) != 0 ? fail("standard output") : 0;
}
