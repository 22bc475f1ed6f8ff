import { Failure } from "../../../contract/errors.ts";
import { showFingerprint } from "../../../transport/fingerprint.ts";
import { type Answer, Transport, type TransportCall } from "../../../transport/transport.ts";
import { hostFailure } from "./host-failure.ts";

/** Sends requests to the host. An error about its certificate explains how to pin it. */
export class HostTransport extends Transport {
  override async request(call: TransportCall): Promise<Answer> {
    try {
      return await super.request(call);
    } catch (error) {
      throw withRemedy(error);
    }
  }
}

function withRemedy(error: unknown): unknown {
  // The host's answer was too large, not the caller's request.
  if (error instanceof Failure && error.code === "payload_too_large") return hostFailure(`the host sent too much: ${error.message}`);
  if (!(error instanceof Failure) || (error.code !== "tls_untrusted" && error.code !== "tls_pin_mismatch")) return error;
  const { fingerprint } = error.data ?? {};
  if (typeof fingerprint !== "string") return error;
  const shown = showFingerprint(fingerprint);
  const when = error.code === "tls_pin_mismatch" ? "if the host has a new certificate, compare" : "compare";
  const message = `the host's certificate: ${error.message}; ${when} its fingerprint ${shown} with the host's own, then start the service with --host-pin ${shown}`;
  return new Failure(error.code, message, { data: { ...error.data, fingerprint: shown }, cause: error });
}
