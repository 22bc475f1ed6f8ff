import { isIP, type OnReadOpts } from "node:net";
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from "node:tls";
import { Failure } from "../contract/errors.ts";
import { DirectReads } from "./direct-reads.ts";
import { parseFingerprint, showFingerprint } from "./fingerprint.ts";

export interface DialOptions {
  readonly host: string;
  readonly port: number;
  /** 64 lowercase hex digits: SHA-256 of the leaf certificate. Absent: the certificate must be signed by a trusted authority. */
  readonly pin?: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string;
  /** Ends the attempt; ignored once the connection exists. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a TLS connection and checks its certificate before a caller can write to it. Throws tls_pin_mismatch or tls_untrusted (both with
 * `data.fingerprint`, so that a person can be asked), or the system's error if there is no connection.
 *
 * Node's own check is switched off during the handshake and its result is read afterwards, because a refused handshake does not show the certificate.
 * Sessions are never resumed, because a resumed session shows no certificate.
 */
export function dial(options: DialOptions): Promise<TLSSocket> {
  if (options.signal?.aborted === true) return Promise.reject(options.signal.reason);
  return new Promise((resolve, reject) => {
    const reads = new DirectReads();
    const socketOptions: ConnectionOptions & { readonly onread: OnReadOpts } = {
      host: options.host,
      port: options.port,
      rejectUnauthorized: false,
      ALPNProtocols: ["http/1.1"],
      ...(isIP(options.host) === 0 ? { servername: options.host } : {}),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      onread: reads.options(),
    };
    const socket = tlsConnect(socketOptions);
    reads.attach(socket);
    const giveUp = (error: unknown) => {
      settle();
      // Later errors of the socket do not matter: the connection was never handed out.
      socket.on("error", () => undefined);
      socket.destroy();
      reject(error);
    };
    const onAbort = () => giveUp(options.signal?.reason);
    const onClose = () =>
      giveUp(new Failure("host_unreachable", `${options.host}:${options.port} closed the connection during the TLS handshake`));
    const onSecure = () => {
      const refusal = verdict(socket, options);
      if (refusal !== undefined) return giveUp(refusal);
      settle();
      resolve(socket);
    };
    const settle = () => {
      socket.off("error", giveUp).off("close", onClose).off("secureConnect", onSecure);
      options.signal?.removeEventListener("abort", onAbort);
    };
    socket.on("error", giveUp).on("close", onClose).on("secureConnect", onSecure);
    options.signal?.addEventListener("abort", onAbort);
  });
}

function verdict(socket: TLSSocket, options: DialOptions): Failure | undefined {
  const certificate = socket.getPeerX509Certificate();
  const place = `${options.host}:${options.port}`;
  if (certificate === undefined) return new Failure("tls_untrusted", `${place} presented no TLS certificate: check the address and port`);
  const fingerprint = parseFingerprint(certificate.fingerprint256);
  if (options.pin !== undefined) {
    if (fingerprint === options.pin) return undefined;
    return new Failure(
      "tls_pin_mismatch",
      `the certificate of ${place} is not the pinned one: pinned ${showFingerprint(options.pin)}, shown ${showFingerprint(fingerprint)}`,
      { data: { fingerprint } },
    );
  }
  if (socket.authorized) return undefined;
  const reason = String(socket.authorizationError);
  return new Failure("tls_untrusted", `the certificate of ${place} is not trusted (${reason}) and no pin was given`, {
    data: { fingerprint, reason },
  });
}
