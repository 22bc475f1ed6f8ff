import type { Client, ClientConfig } from "pg";
import type { PostgresAddress } from "../address/address.ts";
import { clientOf } from "../address/servers.ts";

/** A row that another service has changed. */
export interface Notice {
  readonly kind: "lab" | "job" | "session" | "quota" | "account" | "machine";
  readonly key: string;
}

/** Longest time between two tries to listen again, ms. */
const maxPauseMs = 2_000;

/**
 * Notices of other services, by LISTEN. They are hints: after a lost connection, `catchUp` reads what has changed meanwhile.
 */
export class Notices {
  readonly #open: () => Client;
  readonly #heard: (notice: Notice) => void;
  readonly #catchUp: () => Promise<void>;
  readonly #sender: () => number;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = 50;
  #closed = false;

  /** @param sender number of this service, whose own notices are not heard */
  constructor({ config, servers }: PostgresAddress, sender: () => number, heard: (notice: Notice) => void, catchUp: () => Promise<void>) {
    const settings = {
      ...config,
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
      query_timeout: 5_000,
      application_name: "labwright listens",
    } as ClientConfig;
    const Connection = clientOf(servers);
    this.#open = () => new Connection(settings);
    this.#sender = sender;
    this.#heard = heard;
    this.#catchUp = catchUp;
  }

  /** The payload of a notice, for pg_notify, which takes less than 8,000 bytes. */
  text(kind: Notice["kind"], key: string): string {
    return `${this.#sender()} ${kind} ${key}`;
  }

  /** Listens, and reads what has changed. Throws if PostgreSQL does not answer. */
  async open(): Promise<void> {
    const client = this.#open();
    const lost = () => this.#lost(client);
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ payload = "" }) => {
      const [sender = "", kind = "", ...key] = payload.split(" ");
      if (Number(sender) !== this.#sender()) this.#heard({ kind: kind as Notice["kind"], key: key.join(" ") });
    });
    try {
      await client.connect();
      await client.query("LISTEN labwright");
      this.#client = client;
      await this.#catchUp();
      this.#pauseMs = 50;
    } catch (error) {
      this.#client = undefined;
      client.removeAllListeners("end");
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Checks that the connection of the notices still answers. A firewall may have dropped it without a word. */
  async check(): Promise<void> {
    const client = this.#client;
    await client?.query("SELECT 1").catch(() => this.#lost(client));
  }

  /** Connects again and reads everything that may have changed: a single change could not be read. */
  reopen(): void {
    if (this.#client !== undefined) this.#lost(this.#client);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => undefined);
  }

  #lost(client: Client): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = undefined;
    void client.end().catch(() => undefined);
    this.#again();
  }

  #again(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.open().catch(() => this.#again()), this.#pauseMs);
    this.#timer.unref();
    this.#pauseMs = Math.min(maxPauseMs, 2 * this.#pauseMs);
  }
}
