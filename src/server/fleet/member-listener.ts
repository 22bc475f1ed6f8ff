import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { errors } from "../../contract/errors.ts";
import { ownProtocol } from "../../contract/fleet-protocol.ts";
import { noteMember, protocolHeader } from "../forwarding/forwarded.ts";
import { failureEnvelope } from "../http/failures.ts";
import { wantsStream } from "../streams/upgrades.ts";
import { type MemberCredentials, subjectOf } from "./membership.ts";

export interface MemberListenerOptions {
  readonly credentials: MemberCredentials;
  readonly host: string;
  readonly port: number;
  /** The numbers of the machines of the fleet now: a machine that was removed still has a certificate. */
  readonly machines: () => readonly { readonly number: number }[];
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Number of the protocol of this machine. Absent: that of this release. */
  readonly protocol?: number | undefined;
}

/** Listens for other machines of the fleet: TLS with certificates of both sides. */
export async function listenForMembers({
  credentials,
  host,
  port,
  machines,
  handle,
  protocol = ownProtocol,
}: MemberListenerOptions): Promise<Server> {
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
    (request, response) => {
      const problem = protocolRefusal(request, protocol);
      if (problem === undefined) {
        response.setHeader(protocolHeader, String(protocol));
        handle(request, response);
      } else refuse(response, problem);
    },
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

/** The sender uses the lower protocol of both machines, so that it is that of this one, or the one before. */
function protocolRefusal({ headers }: IncomingMessage, own: number): string | undefined {
  const text = headers[protocolHeader] ?? "1";
  if ([own, own - 1].some((known) => text === String(known))) return undefined;
  return `this machine has protocol ${own} between machines, and not ${JSON.stringify(text)}: install releases on both that are one step apart`;
}

function refuse(response: ServerResponse, problem: string): void {
  const text = JSON.stringify(failureEnvelope("machine_unreachable", problem, {}));
  // The rest of the request is not read.
  response.writeHead(errors.machine_unreachable.status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    connection: "close",
  });
  response.end(text);
}

export function memberTls({ certificate, key, authority }: MemberCredentials) {
  return { cert: certificate, key, ca: authority, minVersion: "TLSv1.3" } as const;
}

function memberOf(socket: TLSSocket, machines: readonly { readonly number: number }[]): number | undefined {
  const { CN } = socket.getPeerCertificate().subject;
  return machines.find(({ number }) => subjectOf(number) === CN)?.number;
}
