import type { Call } from "./call.ts";
import type { User } from "./users.ts";

export type Signed = Call & { readonly user: User };

/** A failure that is answered as it is, with status 400. */
export class Refused extends Error {}
