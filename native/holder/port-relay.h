/* Connections to ports of nodes. */
#pragma once

/* Connects to the port on the loopback addresses of this net namespace. Returns the connection, or -1 with errno. */
int port_connect(int port);
/* Passes bytes between the connections until both directions have ended, or one connection breaks. */
void port_relay(int a, int b);
