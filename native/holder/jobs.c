/* Programs that run for a client, in the fabric or in a node. */
#include "node.h"
#include "../common/process-tree.h"
#include "port-relay.h"
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
  OUTPUT_PIECE = 65536,    /* bytes of output in a frame */
  INPUT_HIGH = 256 << 10,  /* bytes of input that wait for the program before its client is no longer read */
  HANG_UP_MS = 1000,       /* ms that the programs of a terminal have after its hang-up */
};

struct job *jobs;

/* Programs that are killed at the end of this turn, with all that they have started. */
static pid_t *doomed;
static size_t doomed_count, doomed_room;

void job_kill(struct job *j) {
  if (!j->pid) return;
  if (!j->feeds) {
    kill(-j->pid, SIGKILL);
    kill(j->pid, SIGKILL); /* it may not have made its group yet */
    return;
  }
  if (doomed_count == doomed_room) doomed = need(realloc(doomed, sizeof *doomed * (doomed_room = doomed_room ? doomed_room * 2 : 64)));
  doomed[doomed_count++] = j->pid;
}

/* One search of the process table serves all programs of this turn. */
void jobs_sweep(void) {
  if (doomed_count > 0) kill_trees(doomed, doomed_count);
  doomed_count = 0;
}

static void job_timeout(struct timer *t) {
  struct job *j = container_of(t, struct job, timeout);
  j->timed_out = true;
  job_kill(j);
}

void job_update(struct job *j) {
  struct client *c = j->client;
  uint32_t want = c && c->out.end - c->out.start < OUT_HIGH ? EPOLLIN : 0;
  source_watch(&j->out, want);
  source_watch(&j->err, want);
}

/* Moves output of the job to its client. Returns false at the end of the pipe, and if the pipe has no data now. */
static bool job_output(struct job *j, struct source *s) {
  char *frame = buffer_reserve(&j->client->out, FRAME_HEAD + OUTPUT_PIECE);
  ssize_t got = read(s->fd, frame + FRAME_HEAD, OUTPUT_PIECE);
  /* A terminal that no process has open any more fails with EIO. */
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) source_close(s);
  if (got <= 0) return false;
  frame_head(frame, s == &j->out ? 'O' : 'X', (size_t)got);
  j->client->out.end += FRAME_HEAD + (size_t)got;
  return true;
}

static void job_out_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, out);
  (void)events;
  if (!j->client) return;
  job_output(j, s);
  job_update(j);
  client_update(j->client);
}

static void job_err_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, err);
  (void)events;
  if (!j->client) return;
  job_output(j, s);
  job_update(j);
  client_update(j->client);
}

/* Returns the size of the input that the program has not taken yet, and where it is. */
static size_t input_left(const struct job *j, const char **at) {
  *at = j->input_left > 0 ? j->input : j->queue.data + j->queue.start;
  return j->input_left > 0 ? j->input_left : j->queue.end - j->queue.start;
}

/* Ends the program's standard input when all of it is written. A terminal stays open. */
static void input_update(struct job *j) {
  const char *at;
  size_t left = input_left(j, &at);
  if (left == 0 && j->input_ended && !j->terminal) source_close(&j->in);
  else source_watch(&j->in, left > 0 ? EPOLLOUT : 0);
}

static void job_in_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, in);
  const char *at;
  (void)events;
  size_t left = input_left(j, &at);
  ssize_t sent = write(s->fd, at, left);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent < 0) source_close(s); /* the program does not read the rest; its exit code shows whether that is an error */
  else if (j->input_left > 0) j->input += sent, j->input_left -= (size_t)sent;
  else j->queue.start += (size_t)sent;
  input_update(j);
  if (j->client) client_update(j->client);
}

bool job_full(const struct job *j) {
  return j->in.fd >= 0 && j->queue.end - j->queue.start >= INPUT_HIGH;
}

/* Handles one frame of the client: input, the end of the input, a size of the window, a signal. Returns false if it is malformed. */
static bool job_frame(struct job *j, char type, const char *data, size_t length) {
  uint16_t size[2];
  switch (type) {
  case 'I':
    if (length == 0) j->input_ended = true;
    else if (!j->input_ended && (j->in.fd >= 0 || j->control.fd >= 0)) {
      memcpy(buffer_reserve(&j->queue, length), data, length);
      j->queue.end += length;
    }
    input_update(j);
    return true;
  case 'W':
    if (length != sizeof size) return false;
    memcpy(size, data, sizeof size);
    j->size = (struct winsize){.ws_col = size[0], .ws_row = size[1]};
    if (j->terminal && j->out.fd >= 0) ioctl(j->out.fd, TIOCSWINSZ, &j->size);
    return true;
  case 'S':
    if (length != 1 || data[0] < 1 || data[0] > SIGRTMAX) return false;
    if (j->pid && kill(-j->pid, data[0]) < 0) kill(j->pid, data[0]); /* it may not have made its group yet */
    return true;
  default: return false;
  }
}

/* Takes the client's frames. Returns false if the client has left or sent something malformed. */
bool job_fed(struct client *c) {
  ssize_t got = read(c->source.fd, buffer_reserve(&c->in, OUTPUT_PIECE), OUTPUT_PIECE);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  c->in.end += (size_t)got;
  for (;;) {
    uint32_t length = 0;
    size_t there = c->in.end - c->in.start;
    const char *frame = c->in.data + c->in.start;
    if (there < sizeof length) break;
    memcpy(&length, frame, sizeof length);
    if (length == 0 || length > MAX_INPUT_FRAME) return false;
    if (there < sizeof length + length) break;
    if (!job_frame(c->job, frame[sizeof length], frame + FRAME_HEAD, length - 1)) return false;
    c->in.start += sizeof length + length;
  }
  client_update(c);
  return true;
}

/* The program's side has opened a terminal of the node and sends the holder's side of it. */
static void job_terminal(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, control);
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } extra;
  char byte;
  struct iovec body = {&byte, 1};
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra.room};
  (void)events;
  ssize_t got = recvmsg(s->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  source_close(s);
  const struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(sizeof(int))) return;
  int master, number;
  memcpy(&master, CMSG_DATA(h), sizeof master);
  /* The node may have mounted anything at the terminal's path. */
  int second = ioctl(master, TIOCGPTN, &number) == 0 && fcntl(master, F_SETFL, O_NONBLOCK) == 0 ? fcntl(master, F_DUPFD_CLOEXEC, 0) : -1;
  if (second < 0) {
    close(master);
    return job_kill(j);
  }
  j->out.fd = master;
  j->in.fd = second;
  ioctl(master, TIOCSWINSZ, &j->size);
  input_update(j);
  job_update(j);
}

void job_drop(struct job *j) {
  source_close(&j->in), source_close(&j->out), source_close(&j->err), source_close(&j->control);
  buffer_free(&j->queue);
  if (j->client) j->client->job = NULL;
  j->client = NULL;
}

/* Ends the program of a client that has left. The hang-up of a terminal ends a shell and its jobs; a process that stays is killed a little later. */
void job_abandon(struct job *j) {
  bool terminal = j->terminal && j->out.fd >= 0;
  job_drop(j);
  if (!terminal) return job_kill(j);
  kill(-j->pid, SIGHUP);
  kill(-j->pid, SIGCONT);
  timer_start(&j->timeout, HANG_UP_MS, job_timeout);
}

/* Reports the end of a program: its exit code, or -1 and the signal, and why the holder or the node's stop ended it. */
static void report_end(struct job *j, int status) {
  struct text fields = {0};
  const bool killed = WIFSIGNALED(status);
  const struct node *n = j->node_id >= 0 ? node_find(j->node_id) : NULL;
  const bool stopped = killed && n && (!n->pid || n->state == STOPPING || n->state == STOPPED || n->state == FAILED);
  text_field(&fields, "%d", killed ? -1 : WEXITSTATUS(status));
  text_field(&fields, "%d", killed ? WTERMSIG(status) : 0);
  text_field(&fields, "%s", j->timed_out ? "timeout" : stopped ? "stopped" : "");
  reply_texts(j->client, 'D', &fields);
}

/* The result of run and exec. */
static void reply_result(struct job *j, int status) {
  struct text fields = {0};
  text_field(&fields, "%d", exit_code(status));
  text_field(&fields, "%s", j->timed_out ? "timeout" : "");
  reply_texts(j->client, 'R', &fields);
}

void job_died(struct job *j, int status) {
  struct client *c = j->client;
  timer_stop(&j->timeout);
  j->pid = 0;
  for (struct job **at = &jobs; *at; at = &(*at)->next)
    if (*at == j) {
      *at = j->next;
      break;
    }
  if (j->control.fd >= 0) job_terminal(&j->control, 0);
  if (c) {
    /* The rest of its output is in the pipes. They are not read to their end, because a background process may keep them open forever. */
    for (int i = 0; i < 64 && j->out.fd >= 0 && job_output(j, &j->out); i++) {}
    for (int i = 0; i < 64 && j->err.fd >= 0 && job_output(j, &j->err); i++) {}
    if (j->feeds) report_end(j, status);
    else reply_result(j, status);
    job_drop(j);
    finish(c);
  }
  free_later(j);
}

/* Opens a terminal of the node and sends the holder's side through `control`. Returns the program's side, or -1 with errno. */
static int open_terminal(int control) {
  int unlock = 0, slave = -1, master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (master < 0) return -1;
  if (ioctl(master, TIOCSPTLCK, &unlock) == 0) slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  struct iovec body = {"t", 1};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof master)]; } extra = {
    .header = {.cmsg_len = CMSG_LEN(sizeof master), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS},
  };
  memcpy(CMSG_DATA(&extra.header), &master, sizeof master);
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra.room};
  if (slave >= 0 && sendmsg(control, &message, MSG_NOSIGNAL) < 0) return -1;
  return slave;
}

static void become_terminal(int control) {
  int slave = open_terminal(control);
  if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0) {
    dprintf(2, "labwright: opening a terminal of the node: %s\n", strerror(errno));
    _exit(126);
  }
  for (int i = 0; i < 3; i++) dup2(slave, i);
}

/* Returns the variables of the request, and of the node those that the request does not set. */
static char **merged_env(char **asked, char **own) {
  size_t count = 0, room = 1;
  for (char **e = asked; e && *e; e++) room++;
  for (char **e = own; e && *e; e++) room++;
  char **all = need(calloc(room, sizeof *all));
  for (char **e = asked; e && *e; e++) all[count++] = *e;
  const size_t given = count;
  for (char **e = own; e && *e; e++) {
    const size_t name = strcspn(*e, "=") + 1;
    bool there = false;
    for (size_t i = 0; i < given; i++) there = there || strncmp(all[i], *e, name) == 0;
    if (!there) all[count++] = *e;
  }
  return all;
}

struct start {
  struct node *node;
  const struct program *program;
  char **argv, **env, *directory; /* copies: a child has no copy of its client's request */
  int node_fd, control;
  int fds[3];
  const struct group_handles *handles;
};

/* A node with a kernel of its own runs the program in its guest: the node's environment names the client that does it. */
static void become_guest_program(const struct start *s, char **env) {
  static const char name[] = "LABWRIGHT_GUEST=", directory[] = "LABWRIGHT_DIRECTORY=";
  char *client = NULL;
  for (char **e = s->node->env; e && *e; e++)
    if (!strncmp(*e, name, sizeof name - 1)) client = *e + sizeof name - 1;
  if (!client || !strcmp(s->argv[0], client)) return;
  size_t words = 0, count = 0;
  while (s->argv[words]) words++;
  while (env[count]) count++;
  char **argv = need(calloc(words + 3, sizeof *argv)), **all = need(calloc(count + 2, sizeof *all));
  argv[0] = client;
  argv[1] = "run";
  memcpy(argv + 2, s->argv, words * sizeof *argv);
  memcpy(all, env, count * sizeof *all);
  if (asprintf(&all[count], "%s%s", directory, s->directory) < 0) _exit(126);
  become(argv, all);
}

static _Noreturn void job_main(const struct start *s) {
  const struct program *p = s->program;
  struct node *n = s->node;
  setsid();
  for (int i = 0; i < 3; i++) dup2(s->fds[i], i);
  if (n && (groups_enter(s->handles) < 0 || setns(s->node_fd, node_namespaces) < 0)) {
    dprintf(2, "labwright: entering the node: %s\n", strerror(errno));
    _exit(126);
  }
  if (p->terminal) become_terminal(s->control);
  if (n && (confine(n) < 0 || limit_descriptors() < 0)) {
    dprintf(2, "labwright: entering the node: %s\n", strerror(errno));
    _exit(126);
  }
  close_range(3, ~0u, 0);
  if (!n) setrlimit(RLIMIT_NOFILE, &file_limit);
  char **env = n ? merged_env(s->env, n->env) : NULL;
  /* The hang-up of a terminal may leave daemons: they are init's, as after a login. */
  if (p->feeds && !p->terminal) adopt_orphans();
  if (n) become_guest_program(s, env);
  if (*s->directory && chdir(s->directory) < 0) {
    dprintf(2, "labwright: %s: %s\n", s->directory, strerror(errno));
    _exit(126);
  }
  become(s->argv, env);
}

void job_start(struct client *c, struct node *n, const struct program *p) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, control[2] = {-1, -1};
  struct group_handles handles = groups_open(n ? n->id : -1);
  struct start s = {.node = n, .program = p, .argv = list_to_vector(p->argv), .env = list_to_vector(p->env), .directory = need(strdup(p->directory)), .node_fd = -1, .handles = &handles};
  pid_t pid = -1;
  if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) goto failed;
  if (p->terminal && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) goto failed;
  s.fds[0] = in[0], s.fds[1] = out[1], s.fds[2] = err[1], s.control = control[1];
  if (n) {
    /* Creates the child in the node's pid namespace, so that the program is a child of the holder and a process of the node. */
    s.node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
    if (s.node_fd < 0 || setns(s.node_fd, CLONE_NEWPID) < 0) goto failed;
  }
  pid = groups_clone(&handles, 0);
  if (pid == 0) job_main(&s);
  int problem = errno;
  if (n && setns(own_pid_ns, CLONE_NEWPID) < 0) {
    dprintf(2, "cannot return to the lab's pid namespace: %s\n", strerror(errno));
    _exit(71);
  }
  errno = problem;
failed:
  problem = errno;
  groups_close(&handles);
  free(s.argv), free(s.env), free(s.directory);
  if (s.node_fd >= 0) close(s.node_fd);
  const int theirs[] = {in[0], out[1], err[1], control[1]};
  int ours[] = {in[1], out[0], err[0], control[0]};
  for (size_t i = 0; i < ARRAY(ours); i++) {
    if (theirs[i] >= 0) close(theirs[i]);
    /* A terminal takes the place of input and output. Errors before it is open are on the pipe of standard error. */
    if (ours[i] >= 0 && (pid < 0 || (p->terminal && i < 2))) close(ours[i]), ours[i] = -1;
    if (ours[i] >= 0) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  }
  if (pid < 0) return refuse(c, "system", strerror(problem));
  struct job *j = need(calloc(1, sizeof *j));
  *j = (struct job){
    .pid = pid, .client = c, .input = p->input, .input_left = p->length, .next = jobs,
    .feeds = p->feeds, .terminal = p->terminal, .input_ended = !p->feeds, .size = p->size, .node_id = n ? n->id : -1,
    .in = {.fd = ours[0], .ready = job_in_ready},
    .out = {.fd = ours[1], .ready = job_out_ready},
    .err = {.fd = ours[2], .ready = job_err_ready},
    .control = {.fd = ours[3], .ready = job_terminal},
  };
  jobs = j;
  c->job = j;
  c->mode = p->feeds ? FEEDING : WORKING;
  c->feeds = p->feeds;
  input_update(j);
  source_watch(&j->control, EPOLLIN);
  if (p->timeout) timer_start(&j->timeout, p->timeout, job_timeout);
  job_update(j);
  if (!p->feeds) return;
  buffer_free(&c->in); /* the request is read; its frames follow */
  reply(c, 'R', NULL, 0);
  client_update(c);
}

/* Connects the client with a port of the node: sends "R", or the reason why there is no connection. */
static _Noreturn void connect_port(int port, bool datagrams) {
  int fd = datagrams ? datagrams_connect(port) : port_connect(port);
  char head[FRAME_HEAD];
  if (fd < 0) {
    struct buffer answer = {0};
    struct text fields = {0};
    text_field(&fields, "%s", "refused");
    text_field(&fields, "%s", strerror(errno));
    frame_add(&answer, 'E', fields.data, fields.length);
    (void)!write_all(0, answer.data + answer.start, answer.end - answer.start);
    _exit(0);
  }
  frame_head(head, 'R', 0);
  if (!write_all(0, head, sizeof head)) _exit(0);
  if (datagrams) datagrams_relay(0, fd, port);
  else port_relay(0, fd);
  _exit(0);
}

/*
 * Gives the connection to a process in the node: to a program, or to the relay of a port. The process sends "R" when it has begun. From then on the holder does
 * not read the connection.
 */
static void join(struct client *c, struct node *n, char **program, int port, bool datagrams) {
  struct group_handles handles = groups_open(n->id);
  int node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
  pid_t pid = node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0 ? -1 : groups_clone(&handles, 0);
  if (pid == 0) {
    setsid();
    fcntl(c->source.fd, F_SETFL, 0);
    dup2(c->source.fd, 0), dup2(c->source.fd, 1);
    if (groups_enter(&handles) < 0 || setns(node_fd, node_namespaces) < 0 || confine(n) < 0 || limit_descriptors() < 0) _exit(126);
    close_range(3, ~0u, 0);
    if (!program) connect_port(port, datagrams);
    char result[FRAME_HEAD];
    frame_head(result, 'R', 0);
    if (!write_all(1, result, sizeof result)) _exit(126);
    dup2(open("/dev/null", O_WRONLY), 2);
    become(program, n->env);
  }
  int problem = errno;
  if (setns(own_pid_ns, CLONE_NEWPID) < 0) {
    dprintf(2, "cannot return to the lab's pid namespace: %s\n", strerror(errno));
    _exit(71);
  }
  groups_close(&handles);
  if (node_fd >= 0) close(node_fd);
  if (pid < 0) return refuse(c, "system", strerror(problem));
  client_close(c);
}

/* Starts a program in the node with the connection as its input and output. */
void job_join(struct client *c, struct node *n, struct list argv) {
  char **program = list_to_vector(argv);
  join(c, n, program, 0, false);
  free(program);
}

void job_connect(struct client *c, struct node *n, int port, bool datagrams) { join(c, n, NULL, port, datagrams); }
