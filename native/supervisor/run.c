/* Programs that the supervisor runs. */
#include "../common/seccomp.h"
#include "vm.h"
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* Becomes an ordinary user without any capability; in a node whose only user is root, root without any capability. */
void drop_privilege(void) {
  (void)!capabilities_bound(0); /* fails only for a process without CAP_SETPCAP, which has no capabilities to lose */
  if (setgroups(0, NULL) == 0 && setresgid(VM_UID, VM_UID, VM_UID) == 0) (void)!setresuid(VM_UID, VM_UID, VM_UID);
  if (capabilities_set(0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) _exit(71);
}

static void signals_for_child(bool takes_term) {
  sigset_t set;
  sigemptyset(&set);
  if (!takes_term) sigaddset(&set, SIGTERM);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
}

/* Runs the program to its end. Returns its exit code. Its messages go to the node's console. */
int run(char *const argv[], const char *input, bool privileged) {
  int in[2];
  if (pipe2(in, O_CLOEXEC) < 0) fail("pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid < 0) fail("%s: %s", argv[0], strerror(errno));
  if (pid == 0) {
    dup2(in[0], 0);
    signals_for_child(true);
    if (!privileged) drop_privilege();
    execv(argv[0], argv);
    dprintf(2, "labwright: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
  }
  close(in[0]);
  size_t left = strlen(input);
  for (ssize_t sent; left > 0 && (sent = write(in[1], input, left)) > 0; input += sent) left -= (size_t)sent;
  close(in[1]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) fail("%s: %s", argv[0], strerror(errno));
  return exit_code(status);
}

pid_t start_hypervisor(char **argv, const int *keep, size_t keep_count) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  for (size_t i = 0; i < keep_count; i++) fcntl(keep[i], F_SETFD, 0);
  /* The hypervisor ends with its supervisor, even if the supervisor is killed. */
  drop_privilege();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  /* The node's init sends TERM to all processes of the node. The hypervisor ignores it: the supervisor presses the guest's power button. */
  signals_for_child(false);
  setsid();
  char *const environment[] = {"PATH=/usr/bin", "HOME=" DISKS, "TMPDIR=" DISKS, NULL};
  execve(argv[0], argv, environment);
  dprintf(2, "labwright: %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}
