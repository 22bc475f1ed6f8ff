import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";

/** The time that a node has to accept a connection, ms. A guest that has just booted gets its address a few seconds later. */
const connectMs = 10_000;
/** The time between two attempts, ms. */
const retryMs = 250;
/** Bytes of the length before a datagram in its stream. */
const headLength = 2;

/**
 * Connects with a TCP port of a node's address in the management network, for nodes whose addresses are in kernels of their own. Waits for an address that no
 * node has yet. Throws host_error.
 */
export async function connectManaged(address: string, port: number): Promise<Duplex> {
  for (const began = performance.now(); ; await delay(retryMs)) {
    const leftMs = began + connectMs - performance.now();
    try {
      return await connectOnce(address, port, Math.max(1, leftMs));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EHOSTUNREACH" && leftMs > 0) continue;
      const message = `no connection to port ${port} of the node's management address ${address}: ${(error as Error).message}`;
      throw new Failure("host_error", message, { data: { host: { message } }, cause: error });
    }
  }
}

function connectOnce(address: string, port: number, timeoutMs: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const onTimeout = () => socket.destroy(new Error(`no answer in ${connectMs / 1000} s`));
    socket.setTimeout(timeoutMs, onTimeout);
    socket.once("error", reject).once("connect", () => {
      socket.setTimeout(0).off("timeout", onTimeout).off("error", reject);
      resolve(socket);
    });
  });
}

/** Returns a stream of datagrams to and from a UDP port of the node's address. Each has a head of two bytes, its length, little-endian. */
export function datagramsManaged(address: string, port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
    socket.once("error", reject);
    socket.connect(port, address, () => {
      socket.off("error", reject);
      resolve(new DatagramStream(socket));
    });
  });
}

class DatagramStream extends Duplex {
  readonly #socket: DatagramSocket;
  #waiting: Buffer = Buffer.alloc(0);

  constructor(socket: DatagramSocket) {
    super();
    this.#socket = socket;
    // A refused datagram is lost, as any other.
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const head = Buffer.allocUnsafe(headLength);
      head.writeUInt16LE(data.length);
      this.push(Buffer.concat([head, data]));
    });
  }

  override _read(): void {
    // Datagrams come when they come.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    for (;;) {
      if (this.#waiting.length < headLength) break;
      const end = headLength + this.#waiting.readUInt16LE(0);
      if (this.#waiting.length < end) break;
      this.#socket.send(this.#waiting.subarray(headLength, end));
      this.#waiting = this.#waiting.subarray(end);
    }
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.close();
    done(error);
  }
}
