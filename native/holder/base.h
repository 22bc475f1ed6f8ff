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

/* The AppArmor profile that set-up loads for nodes, and the environment variable with which the launcher reports that it is loaded. */
#define APPARMOR_PROFILE "labwright-node"
#define APPARMOR_MARK "LABWRIGHT_APPARMOR"

enum {
  PROTOCOL = 1,
  LISTEN_FD = 3, /* descriptors that the launcher gives to the lab's init: the socket, */
  READY_FD = 4,  /* the pipe on which the init reports that it is ready, or its error, */
  RANGE_FD = 20, /* and the lock of the lab's id range, which is held as long as the lab runs */
  KEPT_FD = 512, /* from here on: what the lab's init keeps of each node. Below: among others, what a process needs that becomes a node */
};

int64_t clock_ms(clockid_t clock);

/* Moves a descriptor to KEPT_FD or above. Returns the same descriptor if the limit of open files does not allow that. */
int descriptor_keep(int fd);

/* fork() with namespaces. */
pid_t clone_process(unsigned long flags);
int loopback_up(void);

/* Makes the kernel handle pending carrier changes of this net namespace now. */
void sync_carriers(void);

/* In a user namespace the kernel allows mounts of proc and sysfs only with the same access-time flags as the machine's mounts. */
unsigned long access_time_flags(const char *path);
