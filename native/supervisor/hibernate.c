/*
 * Hibernation: the guest stands still, its whole state goes to a file on the node's disk, the hypervisor ends. A start that finds the file goes on
 * from there. The file appears under its name when it is whole, and is gone before the guest goes on: its disks are others from then on.
 */
#include "vm.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define DRAFT SAVED_STATE ".new"

int control_fd = -1;
static int asker = -1; /* the client of the hibernation that is in progress */
static int file = -1;
static bool loading;

void control_open(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL_SOCKET};
  unlink(CONTROL_SOCKET);
  control_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mode_t before = umask(077);
  if (control_fd < 0 || bind(control_fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(control_fd, 4) < 0)
    fail("%s: %s", CONTROL_SOCKET, strerror(errno));
  umask(before);
}

static void answer(const char *text) {
  if (asker < 0) return;
  (void)!send(asker, text, strlen(text), MSG_NOSIGNAL);
  close(asker);
  asker = -1;
}

static void give_up(const char *why) {
  if (taking_snapshot()) fail("the snapshot could not be saved: %s", why);
  char words[sizeof qmp_problem + 64];
  snprintf(words, sizeof words, "%s", why);
  unlink(DRAFT);
  if (file >= 0) close(file);
  file = -1;
  qmp(-1, "{\"execute\":\"migrate_cancel\"}");
  qmp(-1, "{\"execute\":\"cont\"}");
  answer(words);
}

bool hibernating(void) { return file >= 0; }

void control_ready(void) {
  int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  if (asker >= 0 || loading) {
    static const char busy[] = "a state is being saved or restored";
    (void)!send(fd, busy, sizeof busy - 1, MSG_NOSIGNAL);
    close(fd);
    return;
  }
  asker = fd;
  save_state();
}

void save_state(void) {
  file = open(DRAFT, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return give_up(strerror(errno));
  if (!qmp(-1, "{\"execute\":\"stop\"}") || (taking_snapshot() && !snapshot_without_memory()) ||
      !qmp(-1, "{\"execute\":\"migrate-set-parameters\",\"arguments\":{\"max-bandwidth\":1000000000000}}") ||
      !qmp(file, "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}") ||
      !qmp(-1, "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:state\"}}"))
    give_up(qmp_problem);
}

/* A restored guest does not print its ready line again. */
static bool save_ready(void) {
  if (unlink(SAVED_READY) < 0 && errno != ENOENT) return false;
  if (!is_ready()) return true;
  int fd = open(SAVED_READY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  close(fd);
  return true;
}

/* Polls the progress a few times a second. */
void hibernate_step(void) {
  if (!qmp(-1, "{\"execute\":\"query-migrate\"}")) return give_up(qmp_problem);
  const char *status = qmp_returned("status"), *reason = qmp_returned("error-desc");
  if (!strcmp(status, "failed") || !strcmp(status, "cancelled")) {
    snprintf(qmp_problem, sizeof qmp_problem, "the hypervisor did not save the state: %s", *reason ? reason : status);
    return give_up(qmp_problem);
  }
  if (strcmp(status, "completed")) return;
  if (!save_ready() || !(taking_snapshot() ? snapshot_save_memory() : fsync(file) == 0) || rename(DRAFT, SAVED_STATE) < 0) return give_up(strerror(errno));
  close(file);
  file = -1;
  answer("saved");
  qmp(-1, "{\"execute\":\"quit\"}");
}

static int saved_state_open(void) {
  unlink(DRAFT);
  int fd = open(SAVED_STATE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno != ENOENT) fail("%s: %s", SAVED_STATE, strerror(errno));
  loading = fd >= 0;
  return fd;
}

/* Opens the state from which the guest goes on. Returns -1 if there is none. A node with a kernel of its own begins from a snapshot, which stays. */
int state_open(const struct config *c) {
  if (!c->own_kernel) return saved_state_open();
  int fd = snapshot_open();
  loading = fd >= 0;
  return fd;
}

bool resuming(void) { return loading; }

void resume_step(void) {
  if (!qmp(-1, "{\"execute\":\"query-status\"}")) return; /* the hypervisor's exit code and messages show why */
  if (!strcmp(qmp_returned("status"), "inmigrate")) return;
  loading = false;
  if (snapshot_begins()) return;
  if (unlink(SAVED_STATE) < 0) fail("%s: %s", SAVED_STATE, strerror(errno));
  if (unlink(SAVED_READY) == 0) mark_ready();
}
