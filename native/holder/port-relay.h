/* Connections to ports of nodes. */
#pragma once

/* Connects to the port on the loopback addresses of this net namespace. Returns the connection, or -1 with errno. */
int port_connect(int port);
/* Passes bytes between the connections until both directions have ended, or one connection breaks. */
void port_relay(int a, int b);

/* Returns a UDP socket that is connected with the port on a loopback address of this net namespace, or -1 with errno. */
int datagrams_connect(int port);
/* Passes datagrams between the client's connection and that socket until the client closes its connection. */
void datagrams_relay(int client, int fd, int port);
