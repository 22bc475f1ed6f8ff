import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Counter, isWithoutIpv6, type MachinePort } from "./machine-port.ts";

/** Each connection has a process in the node. */
const maxConnections = 128;

/**
 * Opens a TCP port on these addresses. Rejects with the system's error if one of them cannot be opened; then none is.
 * @param connect connects inside the node
 * @param connections of all ports
 */
export async function openTcpPort(
  addresses: readonly string[],
  port: number,
  connect: () => Promise<Duplex>,
  connections: Counter,
): Promise<MachinePort> {
  const clients = new Set<Socket>();
  const servers: Server[] = [];
  const opened: MachinePort = {
    close() {
      for (const server of servers) server.close();
      for (const client of clients) client.destroy();
    },
  };
  const onClient = (client: Socket) => {
    if (connections.isFull) return void client.resetAndDestroy();
    const remove = connections.add();
    clients.add(client.on("error", () => client.destroy()));
    client.once("close", () => {
      remove();
      clients.delete(client);
    });
    void relay(client, connect);
  };
  for (const address of addresses) {
    // Clients may end their side and read on.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, onClient);
    server.maxConnections = maxConnections;
    try {
      await listening(server, address, port);
      servers.push(server.unref());
    } catch (error) {
      server.close();
      if (isWithoutIpv6(address, error as NodeJS.ErrnoException)) continue;
      opened.close();
      throw Object.assign(error as Error, { address });
    }
  }
  return opened;
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen({ host, port, ipv6Only: true }, () => {
      server.off("error", reject);
      // A connection that cannot be accepted later is lost, and the others go on.
      server.on("error", () => {});
      resolve();
    });
  });
}

/** Passes bytes both ways until both sides have ended. A node that does not answer gets a closed connection, as a machine without the service would. */
async function relay(client: Socket, connect: () => Promise<Duplex>): Promise<void> {
  const far = await connect().catch(() => undefined);
  if (far === undefined) return void client.resetAndDestroy();
  if (client.destroyed) return void far.destroy();
  client.once("close", () => far.destroy());
  // A broken connection destroys both.
  await Promise.all([pipeline(client, far), pipeline(far, client)]).catch(() => client.destroy());
}
