import { Failure } from "../../contract/errors.ts";

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
