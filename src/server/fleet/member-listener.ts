import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { noteMember } from "../forwarding/forwarded.ts";
import { wantsStream } from "../streams/upgrades.ts";
import { type MemberCredentials, subjectOf } from "./membership.ts";

export interface MemberListenerOptions {
  readonly credentials: MemberCredentials;
  readonly host: string;
  readonly port: number;
  /** The numbers of the machines of the fleet now: a machine that was removed still has a certificate. */
  readonly machines: () => readonly { readonly number: number }[];
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Listens for other machines of the fleet: TLS with certificates of both sides. */
export async function listenForMembers({ credentials, host, port, machines, handle }: MemberListenerOptions): Promise<Server> {
  const server = createServer(
    {
      ...memberTls(credentials),
      requestCert: true,
      rejectUnauthorized: true,
      // The other machine closes idle connections: a call would meet a connection that ends.
      keepAliveTimeout: 0,
      noDelay: true,
      requireHostHeader: false,
      shouldUpgradeCallback: wantsStream,
    },
    handle,
  );
  server.on("secureConnection", (socket) => {
    const member = memberOf(socket, machines());
    if (member === undefined) socket.destroy();
    else noteMember(socket, member);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return server;
}

export function memberTls({ certificate, key, authority }: MemberCredentials) {
  return { cert: certificate, key, ca: authority, minVersion: "TLSv1.3" } as const;
}

function memberOf(socket: TLSSocket, machines: readonly { readonly number: number }[]): number | undefined {
  const { CN } = socket.getPeerCertificate().subject;
  return machines.find(({ number }) => subjectOf(number) === CN)?.number;
}
