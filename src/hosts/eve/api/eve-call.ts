import type { Answer } from "../../../transport/transport.ts";
import type { SentSecrets } from "./repeated-secrets.ts";

/** An answer of the host, with the secrets of its request. They are redacted in the message. */
export interface EveReply extends Answer {
  readonly secrets: SentSecrets;
}

/** One call of the host's REST interface. */
export interface EveCall {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the host's address, percent-encoded: /api/labs/… */
  readonly path: string;
  /** Sent as JSON. Bytes are sent unchanged. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Startup configurations in a body of bytes. Those in a JSON body are found in it. */
  readonly configs?: readonly string[];
  readonly timeoutMs?: number;
  /** Maximum bytes of the answer; a larger one is a host_error. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** The call changes nothing: if the session is lost, it is opened again and the call is repeated once. */
  readonly read: boolean;
}
