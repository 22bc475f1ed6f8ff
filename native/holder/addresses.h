/* Addresses of nodes. */
#pragma once

/* Prints the addresses in the net namespaces of the processes. Returns an exit code. */
int addresses(int count, char **pids);
