/* Shared by all parts of the holder. */
#pragma once
#include "../common/io.h"
#include "../common/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ARRAY(a) (sizeof(a) / sizeof *(a))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The profile that set-up loads for nodes, and the variable by which the launcher passes on that it is loaded. */
#define APPARMOR_PROFILE "labwright-node"
#define APPARMOR_MARK "LABWRIGHT_APPARMOR"

enum {
  PROTOCOL = 1,
  LISTEN_FD = 3, /* handed from the launcher to the lab's init: the socket */
  READY_FD = 4,  /* and the pipe on which it reports that it is ready, or why not */
  RANGE_FD = 20, /* and the lock of its range of ids, which lasts as long as the lab */
};

int64_t clock_ms(clockid_t clock);

/* fork() with namespaces. */
pid_t clone_process(unsigned long flags);
int loopback_up(void);

/* Makes the kernel handle pending carrier changes of this net namespace now. */
void sync_carriers(void);

/* proc and sysfs may only be mounted in a user namespace with the access-time flags that the machine's own have. */
unsigned long access_time_flags(const char *path);
