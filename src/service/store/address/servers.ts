import { Client, type ClientConfig } from "pg";

/** A server that a URL names. */
export interface DatabaseServer {
  readonly host: string;
  readonly port: number;
}

/** SQLSTATE of a statement that changes data on a standby. */
const readOnly = "25006";

/**
 * The servers of a database, of which one accepts writes. Each new connection goes to the server of the last one that was usable; a connection that fails makes the next
 * one try another server.
 */
export class Servers {
  readonly #all: readonly DatabaseServer[];
  #current = 0;

  constructor(all: readonly DatabaseServer[]) {
    this.#all = all;
  }

  get count(): number {
    return this.#all.length;
  }

  /** The server that the next connection tries. */
  get current(): DatabaseServer {
    return this.#all[this.#current]!;
  }

  /** A connection to a server has failed, or the server is a standby: the next connection tries another one. */
  failed(server: DatabaseServer): void {
    if (server === this.current) this.#current = (this.#current + 1) % this.#all.length;
  }
}

/**
 * Returns a class of connections to these servers. With several of them, a connection is refused if its server accepts no writes, as libpq does for
 * target_session_attrs=read-write.
 */
export function clientOf(servers: Servers): new (config: ClientConfig) => Client {
  return class extends Client {
    readonly #server: DatabaseServer;

    constructor(config: ClientConfig) {
      const server = servers.current;
      // The pool hides the password: a copy of its settings does not have it.
      super({ ...config, ...(config.password !== undefined && { password: config.password }), ...server });
      this.#server = server;
      // With a listener, the end of a connection does not end the process. It is reported by the statement that runs, and by the next one.
      this.on("error", () => servers.failed(server));
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      const connecting = this.#connect();
      if (callback === undefined) return connecting;
      connecting.then(() => (callback as (error: Error | null) => void)(null), callback);
      return undefined;
    }

    async #connect(): Promise<Client> {
      try {
        await super.connect();
        if (servers.count > 1) await this.#refuseStandby();
        return this;
      } catch (error) {
        servers.failed(this.#server);
        throw error;
      }
    }

    async #refuseStandby(): Promise<void> {
      const { rows } = await this.query<{ transaction_read_only: string }>("SHOW transaction_read_only");
      if (rows[0]?.transaction_read_only === "off") return;
      await this.end();
      const { host, port } = this.#server;
      throw Object.assign(new Error(`the server ${host}:${port} is a standby, which accepts no writes`), { code: readOnly });
    }
  };
}

/**
 * Connects to the server that accepts writes: tries each of them. Throws the failure of the first one that is not a standby.
 * @param open returns a new connection of `clientOf`, not yet connected
 */
export async function connectAny(servers: Servers, open: () => Client): Promise<Client> {
  const errors: unknown[] = [];
  for (let tried = 0; tried < servers.count; tried++) {
    const client = open();
    try {
      await client.connect();
      return client;
    } catch (error) {
      errors.push(error);
      await client.end().catch(() => undefined);
    }
  }
  throw errors.find((error) => (error as { readonly code?: unknown }).code !== readOnly) ?? errors[0];
}
