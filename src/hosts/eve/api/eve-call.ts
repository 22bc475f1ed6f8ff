/** One call of the host's REST interface. */
export interface EveCall {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the host's address, percent-encoded: /api/labs/… */
  readonly path: string;
  /** Sent as JSON. Bytes are sent unchanged. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly timeoutMs?: number;
  /** Maximum bytes of the answer; a larger one is a host_error. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** The call changes nothing: if the session is lost, it is opened again and the call is repeated once. */
  readonly read: boolean;
}
