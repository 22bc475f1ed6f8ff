import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { supervisor } from "../templates/vm-template.ts";
import { screenSocket } from "./vm-config.ts";

/**
 * Sockets on the machine for VNC clients of a lab's virtual machines. They are in the lab's runtime directory, which only the service's user can
 * enter. Each connection is forwarded into the node, so that no process outside the node opens the node's own socket.
 */
export class Screens {
  readonly #directory: string;
  readonly #open = new Map<number, Screen>();

  /** @param directory the lab's runtime directory */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the path of the node's socket, which listens from now on. */
  async path(sandbox: Pick<Sandbox, "join">, node: number): Promise<string> {
    const path = join(this.#directory, `vnc-${node}.sock`);
    let screen = this.#open.get(node);
    if (screen === undefined) {
      screen = openScreen(sandbox, node, path);
      this.#open.set(node, screen);
    }
    try {
      await screen.listening;
    } catch (error) {
      if (this.#open.get(node) === screen) this.#open.delete(node);
      throw error;
    }
    return path;
  }

  /** Ends all open screens, also of nodes that keep running. */
  close(): void {
    for (const { server, connections } of this.#open.values()) {
      server.close();
      for (const client of connections) client.destroy();
    }
    this.#open.clear();
  }
}

interface Screen {
  readonly server: Server;
  readonly connections: ReadonlySet<Socket>;
  readonly listening: Promise<void>;
}

function openScreen(sandbox: Pick<Sandbox, "join">, node: number, path: string): Screen {
  const connections = new Set<Socket>();
  const server = createServer((client) => {
    connections.add(client.on("error", () => client.destroy()));
    client.once("close", () => connections.delete(client));
    sandbox.join(node, [supervisor, "relay", screenSocket]).then(
      (far) => {
        far.on("error", () => client.destroy()).once("close", () => client.destroy());
        // The client may have left meanwhile, without another event.
        if (client.destroyed) far.destroy();
        client.once("close", () => far.destroy());
        client.pipe(far).pipe(client);
      },
      () => client.destroy(), // the node has ended: so does the connection
    );
  });
  const listen = async () => {
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      // This includes a connection that cannot be accepted later: it is lost, and the others continue.
      server.on("error", reject).listen(path, resolve).unref();
    });
  };
  return { server, connections, listening: listen() };
}
