/* Programs that run for a client, in the fabric or in a node. */
#include "node.h"
#include <sys/epoll.h>
#include <sys/syscall.h>

enum { OUTPUT_PIECE = 32768 /* bytes of output in a frame */ };

struct job *jobs;

void job_kill(struct job *j) {
  if (!j->pid) return;
  kill(-j->pid, SIGKILL);
  kill(j->pid, SIGKILL); /* it may not have made its group yet */
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
  if (got == 0) source_close(s);
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

static void job_in_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, in);
  (void)events;
  ssize_t sent = write(s->fd, j->input, j->input_left);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) j->input += sent, j->input_left -= (size_t)sent;
  if (sent <= 0 || j->input_left == 0) source_close(s); /* the program does not read the rest; its exit code shows whether that is an error */
}

void job_drop(struct job *j) {
  source_close(&j->in), source_close(&j->out), source_close(&j->err);
  if (j->client) j->client->job = NULL;
  j->client = NULL;
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
  if (c) {
    /* The rest of its output is in the pipes. They are not read to their end, because a background process may keep them open forever. */
    for (int i = 0; i < 64 && j->out.fd >= 0 && job_output(j, &j->out); i++) {}
    for (int i = 0; i < 64 && j->err.fd >= 0 && job_output(j, &j->err); i++) {}
    struct text fields = {0};
    text_field(&fields, "%d", exit_code(status));
    text_field(&fields, "%s", j->timed_out ? "timeout" : "");
    reply_texts(c, 'R', &fields);
    job_drop(j);
    finish(c);
  }
  free_later(j);
}

void job_start(struct client *c, struct node *n, struct list argv, const char *input, size_t length, long timeout) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, node_fd = -1;
  struct group_handles handles = groups_open(n ? n->id : -1);
  char **program = list_to_vector(argv);
  pid_t pid = -1;
  if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) goto failed;
  if (n) {
    /* Creates the child in the node's pid namespace, so that the program is a child of the holder and a process of the node. */
    node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
    if (node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0) goto failed;
  }
  pid = groups_clone(&handles, 0);
  if (pid == 0) {
    setsid();
    dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
    const int all = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;
    if (n && (groups_enter(&handles) < 0 || setns(node_fd, all) < 0 || confine(n) < 0)) {
      dprintf(2, "labwright: entering the node: %s\n", strerror(errno));
      _exit(126);
    }
    close_range(3, ~0u, 0);
    if (!n) setrlimit(RLIMIT_NOFILE, &file_limit);
    become(program, n ? n->env : NULL);
  }
  int problem = errno;
  if (n && setns(own_pid_ns, CLONE_NEWPID) < 0) {
    dprintf(2, "cannot return to the lab's pid namespace: %s\n", strerror(errno));
    _exit(71);
  }
  errno = problem;
failed:
  problem = errno;
  groups_close(&handles);
  free(program);
  if (node_fd >= 0) close(node_fd);
  const int theirs[] = {in[0], out[1], err[1]}, ours[] = {in[1], out[0], err[0]};
  for (size_t i = 0; i < 3; i++) {
    if (theirs[i] >= 0) close(theirs[i]);
    if (pid < 0 && ours[i] >= 0) close(ours[i]);
    if (pid >= 0) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  }
  if (pid < 0) return refuse(c, "system", strerror(problem));
  struct job *j = need(calloc(1, sizeof *j));
  *j = (struct job){
    .pid = pid, .client = c, .input = input, .input_left = length, .next = jobs,
    .in = {.fd = in[1], .ready = job_in_ready},
    .out = {.fd = out[0], .ready = job_out_ready},
    .err = {.fd = err[0], .ready = job_err_ready},
  };
  jobs = j;
  c->job = j;
  c->mode = WORKING;
  if (length) source_watch(&j->in, EPOLLOUT);
  else source_close(&j->in);
  if (timeout) timer_start(&j->timeout, timeout, job_timeout);
  job_update(j);
}

/* Starts a program in the node with the connection as its input and output. The program first sends "R". The holder does not watch it afterwards. */
void job_join(struct client *c, struct node *n, struct list argv) {
  struct group_handles handles = groups_open(n->id);
  char **program = list_to_vector(argv);
  int node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
  pid_t pid = node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0 ? -1 : groups_clone(&handles, 0);
  if (pid == 0) {
    setsid();
    fcntl(c->source.fd, F_SETFL, 0);
    dup2(c->source.fd, 0), dup2(c->source.fd, 1);
    const int all = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;
    if (groups_enter(&handles) < 0 || setns(node_fd, all) < 0 || confine(n) < 0) _exit(126);
    close_range(3, ~0u, 0);
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
  free(program);
  if (node_fd >= 0) close(node_fd);
  if (pid < 0) return refuse(c, "system", strerror(problem));
  client_close(c);
}
