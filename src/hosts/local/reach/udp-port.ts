import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { Duplex } from "node:stream";
import { type Counter, isWithoutIpv6, type MachinePort } from "./machine-port.ts";

/** Each session has a process in the node. Another sender ends the session that has been silent longest. */
const maxSessions = 64;
/** A session without datagrams ends after this time, ms. */
const idleMs = 30_000;
/** Bytes of datagrams that wait for the node in one session. More are lost, as on a full queue. */
const maxWaiting = 262_144;
const headLength = 2;

/** The datagrams of one sender, which arrive at the node from a port of their own. */
interface Session {
  /** Absent while it is being opened. */
  stream?: Duplex;
  /** Frames of datagrams that came before it was open. */
  waiting: Buffer[];
  waitingBytes: number;
  /** By performance.now(). */
  usedAt: number;
  end(): void;
}

/**
 * Opens a UDP port on these addresses. Rejects with the system's error if one of them cannot be opened; then none is.
 * @param connect opens a stream of datagrams to the node; each has a head of two bytes, its length, little-endian
 * @param count sessions of all ports
 */
export async function openUdpPort(
  addresses: readonly string[],
  port: number,
  connect: () => Promise<Duplex>,
  count: Counter,
): Promise<MachinePort> {
  const places: UdpPlace[] = [];
  const close = () => {
    for (const place of places) place.close();
  };
  for (const address of addresses) {
    const socket = createSocket(address.includes(":") ? { type: "udp6", ipv6Only: true } : { type: "udp4" });
    try {
      await bound(socket, address, port);
      places.push(new UdpPlace(socket.unref(), connect, count));
    } catch (error) {
      socket.close();
      if (isWithoutIpv6(address, error as NodeJS.ErrnoException)) continue;
      close();
      throw Object.assign(error as Error, { address });
    }
  }
  return { close };
}

function bound(socket: Socket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject).bind({ address, port, exclusive: true }, () => {
      socket.off("error", reject);
      // An answer that cannot be sent is lost, and the others go on.
      socket.on("error", () => {});
      resolve();
    });
  });
}

/** The sessions of one address of the machine. */
class UdpPlace {
  readonly #socket: Socket;
  readonly #connect: () => Promise<Duplex>;
  readonly #count: Counter;
  /** By the sender's address and port, the longest silent first. */
  readonly #sessions = new Map<string, Session>();
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, connect: () => Promise<Duplex>, count: Counter) {
    this.#socket = socket;
    this.#connect = connect;
    this.#count = count;
    socket.on("message", (data, from) => this.#receive(data, from));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.close();
    for (const session of [...this.#sessions.values()]) session.end();
  }

  #receive(data: Buffer, from: RemoteInfo): void {
    const key = `${from.address} ${from.port}`;
    const session = this.#sessions.get(key) ?? this.#open(key, from);
    if (session === undefined) return;
    this.#touch(key, session);
    const head = Buffer.allocUnsafe(headLength);
    head.writeUInt16LE(data.length);
    const frame = Buffer.concat([head, data]);
    const { stream } = session;
    const waiting = stream === undefined ? session.waitingBytes : stream.writableLength;
    if (waiting + frame.length > maxWaiting) return;
    if (stream !== undefined) return void stream.write(frame);
    session.waiting.push(frame);
    session.waitingBytes += frame.length;
  }

  /** Returns undefined if all ports together have too many sessions. */
  #open(key: string, from: RemoteInfo): Session | undefined {
    const [silent] = this.#sessions.values();
    if (this.#sessions.size >= maxSessions) silent?.end();
    if (this.#count.isFull) silent?.end();
    if (this.#count.isFull) return undefined;
    const remove = this.#count.add();
    const session: Session = {
      waiting: [],
      waitingBytes: 0,
      usedAt: performance.now(),
      end: () => {
        if (this.#sessions.get(key) !== session) return;
        this.#sessions.delete(key);
        remove();
        session.stream?.destroy();
      },
    };
    this.#sessions.set(key, session);
    this.#watch();
    void this.#attach(key, session, from);
    return session;
  }

  async #attach(key: string, session: Session, from: RemoteInfo): Promise<void> {
    const stream = await this.#connect().catch(() => undefined);
    // A node that does not answer loses datagrams, as a machine that is switched off would.
    if (stream === undefined) return session.end();
    stream.on("error", () => session.end()).on("close", () => session.end());
    if (this.#sessions.get(key) !== session) return void stream.destroy();
    session.stream = stream;
    for (const frame of session.waiting) stream.write(frame);
    session.waiting = [];
    passAnswers(stream, (data) => {
      if (this.#sessions.get(key) !== session) return;
      this.#touch(key, session);
      this.#socket.send(data, from.port, from.address);
    });
  }

  /** Moves the session to the end of the list. */
  #touch(key: string, session: Session): void {
    session.usedAt = performance.now();
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
  }

  /** Ends silent sessions when their time is over. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const now = performance.now();
      for (const session of [...this.#sessions.values()]) if (now - session.usedAt >= idleMs) session.end();
      if (this.#sessions.size > 0) this.#watch();
    }, idleMs / 2).unref();
  }
}

/** Calls for each datagram that the stream contains. */
function passAnswers(stream: Duplex, onDatagram: (data: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    let bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (bytes.length >= headLength) {
      const end = headLength + bytes.readUInt16LE();
      if (bytes.length < end) break;
      onDatagram(bytes.subarray(headLength, end));
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  });
}
