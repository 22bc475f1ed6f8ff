/* The system calls that nodes may make. */
#pragma once
#include "base.h"

/* Calls that routers, hosts, containers and hypervisors make: files, processes, signals, memory, time, sockets, IPC. By number where headers may be
 * older than the call; numbers from 424 on are the same everywhere. */
extern const unsigned allowed_calls[];
extern const size_t allowed_call_count;

/* Calls that no node needs and that reach much of the kernel. Refused under every profile, with EPERM. */
extern const unsigned denied_calls[];
extern const size_t denied_call_count;
