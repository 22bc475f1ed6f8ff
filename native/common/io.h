/* Writing and sending whole buffers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Writes the whole buffer, in several calls if needed. Returns false, with errno, if a call fails. */
bool write_all(int fd, const void *data, size_t length);

/* The same for a socket: a peer that closed it is an error, not a signal. */
bool send_all(int socket, const void *data, size_t length);
