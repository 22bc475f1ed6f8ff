import type { Duplex } from "node:stream";
import type { Identity } from "../holder/identity.ts";
import { Pulse } from "../holder/pulse.ts";
import { type Fields, openRequest, type RequestOptions, request } from "../holder/request.ts";
import type { Frame } from "../holder/wire.ts";

/** Sends requests to one holder. A request ends with host_timeout if the holder hangs. */
export interface HolderConnection {
  readonly identity: Identity;
  /** The holder's socket. */
  readonly path: string;
  readonly pulse: Pulse;
  readonly ask: (command: string, fields: Fields, options?: RequestOptions) => Promise<Frame>;
  readonly openStream: (command: string, fields: Fields) => Promise<Duplex>;
}

export function connectHolder(path: string, identity: Identity): HolderConnection {
  const pulse = new Pulse(identity, (deadline) => request(path, "info", [], deadline));
  return {
    identity,
    path,
    pulse,
    ask: (command, fields, { signal: given, ...more } = {}) =>
      pulse.during((signal) => request(path, command, fields, { ...more, signal }), given),
    async openStream(command, fields) {
      const { socket, reader } = await pulse.during((signal) => openRequest(path, command, fields, { signal }));
      const rest = reader.rest();
      if (rest.length > 0) socket.unshift(rest);
      return socket;
    },
  };
}
