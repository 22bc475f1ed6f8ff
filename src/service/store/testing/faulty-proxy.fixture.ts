import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A fault of all connections. */
export type Fault =
  /** Passes everything on. */
  | "none"
  /** Refuses new connections and cuts the open ones. */
  | "refuse"
  /** Keeps connections open and passes nothing on, as a firewall that drops packets. */
  | "silent";

/** A TCP proxy before PostgreSQL that drops, delays and cuts. */
export class FaultyProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  readonly #waiting: (() => void)[] = [];
  fault: Fault = "none";
  /** Cuts the connection at the statement with this number, counted from now: "before" it reaches the server, or "after" it, before its answer. */
  cut: { left: number; readonly when: "before" | "after" } | undefined;
  /** Number of statements that were sent. */
  statements = 0;

  constructor(path: string) {
    this.#server = createServer((client) => {
      if (this.fault === "refuse") return void client.destroy();
      const server = connect(path);
      const pair = { client, server };
      this.#pairs.add(pair);
      const end = () => {
        client.destroy();
        server.destroy();
        this.#pairs.delete(pair);
      };
      for (const socket of [client, server]) socket.on("error", end).on("close", end);
      let dropsAnswer = false;
      client.on("data", (bytes) => {
        if (this.#isStatement(bytes)) {
          this.statements += 1;
          if (this.cut !== undefined) this.cut.left -= 1;
          if (this.cut?.left === 0) {
            const { when } = this.cut;
            this.cut = undefined;
            if (when === "before") return end();
            dropsAnswer = true;
          }
        }
        this.#pass(() => server.write(bytes));
      });
      server.on("data", (bytes) => {
        // The server has run the statement; nobody hears of it.
        if (dropsAnswer) return end();
        this.#pass(() => client.write(bytes));
      });
    });
  }

  /** Port on 127.0.0.1. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  set(fault: Fault): void {
    this.fault = fault;
    if (fault === "refuse")
      for (const { client, server } of this.#pairs) {
        client.destroy();
        server.destroy();
      }
    if (fault === "none") for (const pass of this.#waiting.splice(0)) pass();
  }

  async close(): Promise<void> {
    this.set("refuse");
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(write: () => void): void {
    if (this.fault === "silent") this.#waiting.push(write);
    else write();
  }

  /** Parse or Bind begins an extended query, Query a simple one. */
  #isStatement(bytes: Buffer): boolean {
    return bytes[0] === 0x50 || bytes[0] === 0x42 || bytes[0] === 0x51;
  }
}
