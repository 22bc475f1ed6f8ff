/* The system calls that nodes may make. */
#pragma once
#include "base.h"

/* Calls that routers, hosts, containers and hypervisors make: files, processes, signals, memory, time, sockets, IPC. Calls that
 * old headers may lack are listed by number: numbers from 424 on are the same on all architectures. */
extern const unsigned allowed_calls[];
extern const size_t allowed_call_count;

/* Calls that no node needs and that expose much kernel code. Refused under every profile, with EPERM. */
extern const unsigned denied_calls[];
extern const size_t denied_call_count;
