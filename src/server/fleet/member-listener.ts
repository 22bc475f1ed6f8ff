import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { errors } from "../../contract/errors.ts";
import { ownProtocol } from "../../contract/fleet-protocol.ts";
import { noteMember, protocolHeader } from "../forwarding/forwarded.ts";
import { failureEnvelope } from "../http/failures.ts";
import { wantsStream } from "../streams/upgrades.ts";
import { type MemberCredentials, subjectOf } from "./membership.ts";
import { partStreamsPath } from "./part-streams.ts";

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

/** The server for the other machines of the fleet. */
export interface MemberListener {
  readonly server: Server;
  /** Ends the connections of machines that were removed. */
  dropRemoved(): void;
}

/** Calls that are passed on have the headers of the client, and those of the fleet. */
const maxHeaderBytes = 64 * 1024;

/** Time for the handshake of TLS, ms. */
const handshakeMs = 5_000;
/** Maximum of connections that have shown no certificate yet. Anybody on the network can open them. */
const maxStrangers = 256;

/** Listens for other machines of the fleet: TLS with certificates of both sides. */
export async function listenForMembers({
  credentials,
  host,
  port,
  machines,
  handle,
  protocol = ownProtocol,
}: MemberListenerOptions): Promise<MemberListener> {
  const connections = new Map<Duplex, number>();
  /** Whether the machine at the other end of a connection is still part of the fleet; ends the connection if not. */
  const isOfMember = (connection: Duplex) => {
    const isMember = machines().some(({ number }) => number === connections.get(connection));
    if (!isMember) connection.destroy();
    return isMember;
  };
  const server = createServer(
    {
      ...memberTls(credentials),
      requestCert: true,
      rejectUnauthorized: true,
      // The other machine closes idle connections: a call would meet a connection that ends.
      keepAliveTimeout: 0,
      handshakeTimeout: handshakeMs,
      noDelay: true,
      requireHostHeader: false,
      maxHeaderSize: maxHeaderBytes,
      shouldUpgradeCallback: (request) => (wantsStream(request) || request.url === partStreamsPath) && isOfMember(request.socket),
    },
    (request, response) => {
      if (!isOfMember(request.socket)) return;
      const problem = protocolRefusal(request, protocol);
      if (problem === undefined) {
        response.setHeader(protocolHeader, String(protocol));
        handle(request, response);
      } else refuse(response, problem);
    },
  );
  const strangers = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const stranger = addressOf(socket);
    strangers.set(stranger, socket);
    socket.once("close", () => strangers.delete(stranger));
    const [oldest] = strangers.values();
    if (strangers.size > maxStrangers) oldest?.destroy();
  });
  server.on("secureConnection", (socket) => {
    strangers.delete(addressOf(socket));
    const member = memberOf(socket, machines());
    if (member === undefined) {
      socket.destroy();
      return;
    }
    noteMember(socket, member);
    connections.set(socket, member);
    socket.once("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    server,
    dropRemoved: () => {
      for (const connection of [...connections.keys()]) isOfMember(connection);
    },
  };
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

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function memberOf(socket: TLSSocket, machines: readonly { readonly number: number }[]): number | undefined {
  const { CN } = socket.getPeerCertificate().subject;
  return machines.find(({ number }) => subjectOf(number) === CN)?.number;
}
