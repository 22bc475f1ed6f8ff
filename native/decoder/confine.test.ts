import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Tries the calls that a decoder would use after a packet took it over. Each line of output: a name, and the error of the call, 0 for none. */
const probe = `
#include "decoder.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
_Noreturn void fail(const char *what) { perror(what); exit(1); }
static void *nothing(void *of) { return of; }
#define TRY(name, call) do { errno = 0; long got = (long)(call); printf("%s %d\\n", name, got < 0 ? errno : 0); } while (0)
int main(int argc, char **argv) {
  (void)argc;
  confine(atol(argv[1]));
  pthread_t thread;
  printf("thread %d\\n", pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL));
  TRY("read-file", open("/proc/self/stat", O_RDONLY));
  TRY("get-limit", getrlimit(RLIMIT_AS, &(struct rlimit){0}));
  TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
  TRY("unix-socket", socket(AF_UNIX, SOCK_STREAM, 0));
  TRY("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  TRY("clone3", syscall(435, NULL, 0));
  TRY("new-user", unshare(CLONE_NEWUSER));
  TRY("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  TRY("kill", kill(getppid(), 0));
  TRY("mount", mount("none", "/", "tmpfs", 0, NULL));
  TRY("bpf", syscall(SYS_bpf, 0, NULL, 0));
  TRY("io_uring", syscall(425, 1, NULL));
  TRY("keyctl", syscall(SYS_keyctl, 0, 0));
  TRY("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
  TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
  TRY("memfd", syscall(SYS_memfd_create, "a", 0));
  TRY("unlink", unlinkat(AT_FDCWD, argv[2], 0));
  TRY("mkdir", mkdirat(AT_FDCWD, "made", 0755));
  TRY("chmod", fchmodat(AT_FDCWD, argv[2], 0777, 0));
  TRY("type-into", ioctl(0, 0x5412, "x"));
  TRY("limit-of-other", prlimit(getppid(), RLIMIT_AS, NULL, &(struct rlimit){0}));
  TRY("setuid", syscall(SYS_setresuid, 0, 0, 0));
  TRY("later-than-the-list", syscall(460));
  return 0;
}
`;

test("a decoder that has been taken over can compute and read, and has no other call of the kernel", async () => {
  const work = await mkdtemp(join(tmpdir(), "labwright-confine-"));
  try {
    const precious = join(work, "precious");
    await writeFile(precious, "");
    await writeFile(join(work, "probe.c"), probe);
    const folder = fileURLToPath(new URL(".", import.meta.url));
    await run("cc", [
      "-O1",
      "-static",
      "-D_GNU_SOURCE",
      "-pthread",
      `-I${folder}`,
      "-o",
      join(work, "probe"),
      join(work, "probe.c"),
      join(folder, "confine.c"),
      join(folder, "../common/seccomp.c"),
    ]);
    const asRoot = process.getuid?.() === 0;
    const apart = asRoot ? [] : ["--user", "--map-root-user"];
    const { stdout } = await run("unshare", [...apart, "--net", join(work, "probe"), asRoot ? "65534" : "0", precious], { cwd: "/" });
    const errors = Object.fromEntries(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    ) as Record<string, string>;
    const { thread, "read-file": read, "get-limit": limit, setuid, ...refused } = errors;
    expect([thread, read, limit]).toEqual(["0", "0", "0"]);
    // Without capabilities a process can only use its own id.
    expect(setuid).toBe(asRoot ? "1" : "0");
    expect(Object.keys(refused)).toHaveLength(20);
    for (const [name, error] of Object.entries(refused)) expect([name, error]).toEqual([name, "38"]);
  } finally {
    await rm(work, { recursive: true });
  }
});
