/* The objects of a lab: nodes, clients, jobs. */
#pragma once
#include "../common/text.h"
#include "../common/wire.h"
#include "groups.h"
#include "loop.h"
#include <sys/ioctl.h>

enum {
  MAX_REQUEST = 256 << 20, /* maximum size of a request; memory is allocated as the bytes arrive, not by the announced length */
  MAX_INPUT_FRAME = 1 << 20, /* bytes of a frame of input for a program */
  RING = 64 << 10,         /* scrollback of a node, and the maximum that a viewer may lag behind */
  OUT_HIGH = 256 << 10,    /* output of a job is not read while its client has this much unread */
  STALL_MS = 1000,         /* ms that a viewer that does not read may hold back a node's console */
  MAX_CLIENTS = 2048,
  ACCEPT_PAUSE = 200, /* ms, after a connection that could not be accepted */
  MAX_GROUPS = 32, /* of the user that a node's own program runs as */
  SPAWN_SLICE = 8, /* nodes cloned in one turn, before the other clients are served */
};

/* Clients see SETUP as waiting. */
enum state { SETUP, WAITING, BOOTING, RUNNING, STOPPING, STOPPED, FAILED, SUSPENDED };

struct node {
  long id;
  pid_t pid; /* in the lab's pid namespace; 0: no process */
  enum state state, resumed_state; /* resumed_state: the state after a suspension */
  bool signalling; /* being suspended or resumed by signals: requests that this could overtake are deferred */
  long max_file_bytes; /* bytes; 0: no limit */
  int64_t ring_bytes; /* bytes of all packet rings ever made, used if the kernel does not report the existing ones */
  int exit_code; /* -1: none */
  int boot_code;
  int64_t started;
  char problem[160]; /* why setting it up failed */
  char **env, **boot, **console;
  char **main; /* empty, or work directory, uid, gids: the console program is the node, and its end is the node's */
  struct source control, pty;
  /* The new process shares the holder's descriptors at first. These are open until it has its own. */
  struct node_setup { bool open; int control; struct group_handles groups; } setup;
  /* Scrollback: byte k of all output is at ring[k % RING]; those from first on belong to this run. */
  char *ring;
  uint64_t first, total;
  bool paused;
  struct timer stall, grace;
  char *input; /* typed, and not yet taken by the terminal */
  size_t input_at, input_end;
};

struct wait { struct node *node; bool refused, reported; };

/* A connection; it carries one request. */
struct client {
  struct source source;
  enum { READING, DEFERRED, RETRIED, SPAWNING, AWAITING, FREEZING, WORKING, FEEDING, VIEWING, WATCHING, ENDING } mode;
  struct buffer in, out;
  struct client *next;
  struct job *job;
  bool feeds; /* its input to a program that has ended is dropped */
  struct freeze *freeze; /* FREEZING */
  /* SPAWNING, AWAITING */
  struct reader rest;
  struct wait *waits;
  size_t wait_count;
  bool spawned; /* waits until the nodes are created; otherwise until they have ended */
  /* VIEWING */
  struct node *node;
  uint64_t at, until, lost;
  bool lagging;
};

/* A program that a client wants to run. The strings and lists point into the request. */
struct program {
  struct list argv, env;
  const char *directory; /* empty: where the node's processes start */
  const char *input; /* all of standard input, unless it feeds */
  size_t length;
  long timeout; /* ms; 0: none */
  bool feeds; /* the client sends frames of input, and gets the end of the program as a frame */
  bool terminal; /* has a terminal of its own, of this size */
  struct winsize size;
};

/* A program of a client: run, exec or process. */
struct job {
  pid_t pid; /* also of its session */
  long node_id; /* -1: in the fabric */
  struct client *client;
  struct source in, out, err; /* with a terminal, `in` and `out` are its holder's side */
  struct source control; /* through which the terminal comes */
  const char *input; /* within the client's request */
  size_t input_left;
  struct buffer queue; /* input that the client has sent */
  bool feeds, terminal, input_ended;
  struct winsize size;
  struct timer timeout;
  bool timed_out;
  struct job *next;
};

extern struct node **nodes; /* by id */
extern size_t node_count;
extern struct client *clients;
extern size_t client_count;
extern struct job *jobs;
extern struct source listener;
extern char *lab;
extern bool only_own_id;         /* the user namespace maps nothing but the launching user */
extern int own_pid_ns;
extern unsigned long proc_times, sys_times; /* access_time_flags of /proc and /sys */
extern struct rlimit file_limit; /* the limit of programs; the holder itself has the maximum */

/* nodes.c */
struct spawn;
struct node *node_find(long id);
void node_changed(struct node *n, enum state state);
void node_died(struct node *n, int status);
void node_kill(struct timer *t);
struct node *node_make(long id);
bool reader_spawn(struct reader *r, struct spawn *s);
void spawn_some(struct client *c);

/* freeze.c */
struct freeze;
/*
 * Suspends or resumes nodes; each is named once and can be changed. Returns 0, or -1 with errno if nothing was changed. If a node has to be signalled,
 * the change ends later: its `signalling` is set until then, and the client, if there is one, is in the mode FREEZING and gets its reply.
 */
int nodes_freeze(struct client *c, struct node **which, size_t count, bool freeze);
/* Handles the end of a signaller. Returns false if the process is not a signaller. */
bool signaller_died(pid_t pid);
void freeze_forget_node(struct node *n);
void freeze_forget_client(struct client *c);
/* Handles the requests that waited for changes which have ended, the oldest first. */
void handle_deferred(void);

/* console.c */
uint64_t scrollback_start(const struct node *n);
void pty_ready(struct source *s, uint32_t events);
bool pty_read(struct node *n, bool even_if_viewers_lag);
/* Adds a text to the node's output. */
void console_note(struct node *n, const char *text);
void node_update(struct node *n);
void viewer_flush(struct client *c);
bool viewer_behind(const struct client *c);
void viewers_flush(struct node *n);
bool viewer_input(struct client *c);

/* jobs.c */
void job_start(struct client *c, struct node *n, const struct program *p);
void job_join(struct client *c, struct node *n, struct list argv);
/* Connects the client with the port on the node's loopback address. */
void job_connect(struct client *c, struct node *n, int port, bool datagrams);
void job_update(struct job *j);
void job_kill(struct job *j);
void job_abandon(struct job *j);
bool job_full(const struct job *j);
bool job_fed(struct client *c);
/* Kills the programs of job_kill, and all that they have started. */
void jobs_sweep(void);
void job_drop(struct job *j);
void job_died(struct job *j, int status);

/* requests.c */
void handle(struct client *c);

/* clients.c */
void reply(struct client *c, char type, const void *data, size_t length);
/* Sends a reply of texts that were added with text_field. Frees them. */
void reply_texts(struct client *c, char type, struct text *fields);
/* Reply S: the node's pid, or 0 and its problem. */
void reply_problem(struct client *c, long id, pid_t pid, const char *problem);
void reply_node(struct client *c, const struct node *n);
void refuse(struct client *c, const char *code, const char *text);
void finish(struct client *c);
void report_waits(struct client *c);
void client_update(struct client *c);
void client_close(struct client *c);
void listener_ready(struct source *s, uint32_t events);
