import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Upgrade } from "../../service/common/call.ts";
import { WebSocketStream } from "./web-socket-stream.ts";

export interface WebSocketLimits {
  /** The interval of pings, ms. A peer that does not answer is disconnected. Default: 30,000. */
  readonly pingMs?: number;
}

/** Maximum size of a frame, bytes: enough for text that a person pastes. A larger frame closes the socket with 1009. */
const maxFrame = 1 << 20;
const maxControl = 1024;
/** Minimum time between two changes of a console's size, ms: a window that is dragged changes its size all the time. */
const minResizeMs = 50;

/** Carries granted streams in WebSocket frames: bytes in binary ones, `{"resize":[columns,rows]}` in text ones. */
export class WebSockets {
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxFrame,
    maxFragments: 1024,
    maxBufferedChunks: 16 * 1024,
  });
  readonly #headers = new WeakMap<IncomingMessage, Readonly<Record<string, string>>>();
  readonly #pingMs: number;

  constructor({ pingMs = 30_000 }: WebSocketLimits = {}) {
    this.#pingMs = pingMs;
    this.#server.on("headers", (lines: string[], request: IncomingMessage) => {
      for (const [name, value] of Object.entries(this.#headers.get(request) ?? {})) lines.push(`${name}: ${value}`);
    });
  }

  /** Answers 101 and attaches the stream. `request` has passed webSocketProblem(), and `connection` is open. */
  accept(request: IncomingMessage, connection: Duplex, head: Buffer, grant: Upgrade, headers: Readonly<Record<string, string>>): void {
    this.#headers.set(request, headers);
    this.#server.handleUpgrade(request, connection, head, (socket) => this.#attach(socket, grant));
  }

  #attach(socket: WebSocket, { attach, resize }: Upgrade): void {
    const setSize = resize && throttle(resize, minResizeMs);
    const onText = (text: string) => {
      const size = sizeIn(text);
      if (size === "malformed") socket.close(1008, 'a text frame is a JSON object such as {"resize":[80,24]}');
      else if (size !== undefined) setSize?.(...size);
    };
    attach(new WebSocketStream(socket, { onText, pingMs: this.#pingMs }));
  }
}

/** Returns the problem of a WebSocket handshake, if there is one. */
export function webSocketProblem({ headers }: IncomingMessage): string | undefined {
  if (headers["sec-websocket-version"] !== "13") return "Sec-WebSocket-Version must be 13";
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) return "Sec-WebSocket-Key must be 16 bytes in base64";
  return undefined;
}

/** Returns the size in a control frame. `undefined` if the frame has no size: a newer client may send other control frames. */
function sizeIn(text: string): readonly [number, number] | "malformed" | undefined {
  if (text.length > maxControl) return "malformed";
  let control: unknown;
  try {
    control = JSON.parse(text);
  } catch {
    return "malformed";
  }
  if (typeof control !== "object" || control === null || Array.isArray(control)) return "malformed";
  if (!("resize" in control)) return undefined;
  const { resize } = control;
  const [columns, rows] = Array.isArray(resize) && resize.length === 2 ? resize : [];
  return isExtent(columns) && isExtent(rows) ? [columns, rows] : "malformed";
}

function isExtent(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 10_000;
}

/** Calls `call` at once, then at most every `ms`, with the latest arguments. */
function throttle(call: (columns: number, rows: number) => void, ms: number): (columns: number, rows: number) => void {
  let waiting: readonly [number, number] | undefined;
  let timer: NodeJS.Timeout | undefined;
  const next = () => {
    timer = undefined;
    if (waiting === undefined) return;
    const [columns, rows] = waiting;
    waiting = undefined;
    timer = setTimeout(next, ms);
    timer.unref();
    call(columns, rows);
  };
  return (columns, rows) => {
    waiting = [columns, rows];
    if (timer === undefined) next();
  };
}
