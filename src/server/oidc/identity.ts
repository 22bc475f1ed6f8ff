import { Failure } from "../../contract/errors.ts";
import type { Service } from "../../service/service.ts";

export type ExternalIdentity = Parameters<Service["signInBrowser"]>[0];
export type Claims = Readonly<Record<string, unknown>>;

/** Which groups of the provider have which role. */
export interface GroupRoles {
  /** The claim with the groups: a list of texts, or one text. */
  readonly claim: string;
  readonly admin?: string;
  readonly user?: string;
  readonly viewer?: string;
}

/**
 * Returns the identity of a user from the claims of a provider. Without a group for users and for viewers, everybody who is not an admin is a user. Throws
 * operation_not_allowed for a user in none of the groups.
 */
export function identityOf(issuer: string, claims: Claims, groups: GroupRoles): ExternalIdentity {
  const subject = claims["sub"];
  if (typeof subject !== "string" || subject === "") throw new Failure("invalid_credentials", `${issuer} sent no subject`);
  const texts = [claims["preferred_username"], claims["email"], claims["name"], subject].filter((one) => typeof one === "string");
  const names = texts.map((text) => (text === claims["email"] ? text.replace(/@.*/s, "") : text));
  return { issuer, subject, names, role: roleOf(groupsOf(claims[groups.claim]), groups) };
}

function roleOf(memberOf: ReadonlySet<string>, { admin, user, viewer }: GroupRoles): ExternalIdentity["role"] {
  const isIn = (group: string | undefined) => group !== undefined && memberOf.has(group);
  if (isIn(admin)) return "admin";
  if (isIn(user) || (user === undefined && viewer === undefined)) return "user";
  if (isIn(viewer)) return "viewer";
  throw new Failure("operation_not_allowed", "you are in none of the groups that may sign in: ask the administrator of this service");
}

function groupsOf(value: unknown): ReadonlySet<string> {
  return new Set((Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string"));
}
