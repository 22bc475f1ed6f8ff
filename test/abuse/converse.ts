import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { type Reply, ReplyReader } from "./replies.ts";

export interface Conversation {
  readonly replies: readonly Reply[];
  /** Bytes after the last whole answer. After an upgrade: all bytes of the upgraded connection. */
  readonly rest: Buffer;
  /** The server ended the connection before time was up. */
  readonly closed: boolean;
  /** The bytes received were not HTTP. */
  readonly broken?: string;
}

export interface ConversationOptions {
  readonly method?: string;
  readonly plain?: boolean | undefined;
  readonly halfClose?: boolean | undefined;
  readonly pieces?: number | undefined;
  /** How long the connection stays open at most, ms. */
  readonly waitMs: number;
  /** Ends when nothing more came for this long after all that must come, ms. */
  readonly quietMs?: number;
  /** So many answers must come: 1. */
  readonly replies?: number;
  /** Whether the rest has come too; called with the bytes after the last whole answer. */
  readonly until?: (rest: string) => boolean;
  /** Called at the first answer. */
  readonly answered?: () => void;
}

/** Sends bytes on a connection of their own, and hears what comes back. */
export function converse(port: number, bytes: Buffer, options: ConversationOptions): Promise<Conversation> {
  return new Promise((resolve) => {
    const reader = new ReplyReader();
    const replies: Reply[] = [];
    let broken: string | undefined;
    let closed = false;
    let quiet: NodeJS.Timeout | undefined;
    let socket: Socket;
    reader.expect(options.method ?? "GET");
    const finish = () => {
      clearTimeout(timer);
      clearTimeout(quiet);
      socket.destroy();
      resolve({ replies, rest: reader.rest, closed, ...(broken !== undefined && { broken }) });
    };
    const timer = setTimeout(finish, options.waitMs);
    const send = () => {
      const pieces = options.pieces ?? 1;
      const size = Math.max(1, Math.ceil(bytes.length / pieces));
      const next = (at: number) => {
        if (socket.destroyed) return;
        if (at >= bytes.length) {
          if (options.halfClose) socket.end();
          return;
        }
        socket.write(bytes.subarray(at, at + size), () => setImmediate(next, at + size));
      };
      next(0);
    };
    const at = { port, host: "127.0.0.1" };
    socket = options.plain ? connectPlain(at, send) : connectSecure({ ...at, rejectUnauthorized: false }, send);
    socket.on("data", (chunk: Buffer) => {
      const before = replies.length;
      try {
        replies.push(...reader.push(chunk));
      } catch (error) {
        broken = (error as Error).message;
        finish();
        return;
      }
      if (before === 0 && replies.length > 0) options.answered?.();
      if (replies.length < (options.replies ?? 1) || options.until?.(reader.rest.toString("latin1")) === false) return;
      if (options.quietMs !== undefined) {
        clearTimeout(quiet);
        quiet = setTimeout(finish, options.quietMs);
      }
    });
    // A reset is an end like any other: the answers before it are judged.
    socket.on("error", () => {});
    socket.on("close", () => {
      closed = true;
      finish();
    });
  });
}
