import type { Host } from "./host.ts";
import type { Body } from "./php.ts";
import type { User } from "./users.ts";

/** One request, as the handlers see it. */
export interface Call {
  readonly host: Host;
  readonly method: string;
  /** Decoded, with its leading slash and without the query. */
  readonly path: string;
  readonly body: Body;
  /** For uploads. */
  readonly raw: Buffer;
  readonly contentType: string;
  readonly query: URLSearchParams;
  /** Of the session. */
  readonly cookie: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As the client calls the host. */
  readonly serverName: string;
  /** Who is signed in. */
  readonly user?: User;
}
