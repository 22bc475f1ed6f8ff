import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Sandbox } from "../sandbox.ts";
import { screenSocket } from "./vm-config.ts";
import { supervisor } from "./vm-spawn.ts";

/**
 * Sockets of the machine at which VNC clients find the screens of a lab's virtual machines. They are in the lab's runtime directory, where
 * only the service's user comes; each connection is carried into the node, so that nothing of the node's is opened by anybody out here.
 */
export class Screens {
  readonly #directory: string;
  readonly #open = new Map<number, { readonly server: Server; readonly connections: Set<Socket> }>();

  /** @param directory the lab's runtime directory */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Path of the node's socket; it listens from here on. */
  async path(sandbox: Sandbox, node: number): Promise<string> {
    const path = join(this.#directory, `vnc-${node}.sock`);
    if (this.#open.has(node)) return path;
    const connections = new Set<Socket>();
    const server = createServer((client) => {
      connections.add(client.on("error", () => client.destroy()));
      client.once("close", () => connections.delete(client));
      sandbox.join(node, [supervisor, "relay", screenSocket]).then(
        (far) => {
          far.on("error", () => client.destroy()).once("close", () => client.destroy());
          client.once("close", () => far.destroy());
          client.pipe(far).pipe(client);
        },
        () => client.destroy(), // the node has ended: so does the connection
      );
    });
    const entry = { server, connections };
    this.#open.set(node, entry);
    try {
      await rm(path, { force: true });
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen(path, () => resolve());
      });
      server.unref();
    } catch (error) {
      this.#open.delete(node);
      throw error;
    }
    return path;
  }

  /** Those that are open end; of nodes that go on, too. */
  close(): void {
    for (const { server, connections } of this.#open.values()) {
      server.close();
      for (const client of connections) client.destroy();
    }
    this.#open.clear();
  }
}
