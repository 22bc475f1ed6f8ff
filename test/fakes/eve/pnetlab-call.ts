import type { Call } from "./call.ts";
import type { User } from "./users.ts";

export type Signed = Call & { readonly user: User };

/** Told as it stands, under 400. */
export class Refused extends Error {}
