import { Failure } from "../../contract/errors.ts";
import type { Caller } from "./call.ts";

export function labNotFound(path: string): Failure {
  return new Failure("lab_not_found", `there is no lab ${path}`);
}

/** Returns the failure for a new lab at a path that belongs to another user, or about which an admin must decide first. */
export function pathNotAvailable(path: string): Failure {
  const text = `the path ${path} is not available to you: choose another name for the lab, or another path with "lab"`;
  return new Failure("lab_not_found", text, { data: { path } });
}

export function badRequest(path: string, message: string): Failure {
  return new Failure("bad_request", `${path}: ${message}`, { data: { problems: [{ path, message }] } });
}

/** Throws operation_not_allowed for an API token with a narrow scope: for changes that belong to a user and not to one lab. */
export function refuseNarrowToken({ limit }: Pick<Caller, "limit">): void {
  if (limit === undefined || limit === "own") return;
  throw new Failure("operation_not_allowed", `this API token allows to ${limit} labs: this needs the scope labs or admin`);
}
