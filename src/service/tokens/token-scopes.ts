import { Failure } from "../../contract/errors.ts";
import { type OperationId, type OperationRow, operations } from "../../contract/operations.ts";
import { tokenScopes } from "../../contract/token-scopes.ts";
import type { Caller } from "../common/call.ts";

/**
 * Throws operation_not_allowed if the caller has an API token whose scope does not include the operation, by the table of operations. The rights on the lab are
 * checked in addition.
 */
export function refuseOutOfScope(id: OperationId, { apiToken }: Pick<Caller, "apiToken">): void {
  if (apiToken === undefined) return;
  const { token = "never", ofAllLabs }: OperationRow = operations[id];
  if (token === "never") {
    throw new Failure("operation_not_allowed", `an API token cannot manage tokens (${id}): sign in with a password`);
  }
  if (tokenScopes.indexOf(apiToken.scope) < tokenScopes.indexOf(token)) {
    const wider = tokenScopes.slice(tokenScopes.indexOf(token)).join(" or ");
    throw new Failure("operation_not_allowed", `this API token has the scope ${apiToken.scope}: ${id} needs the scope ${wider}`);
  }
  if (ofAllLabs === true && apiToken.labs !== undefined) {
    throw new Failure(
      "operation_not_allowed",
      `this API token is for the labs ${apiToken.labs.join(", ")}: ${id} needs a token for all labs`,
    );
  }
}

type AnyHandler = (request: unknown, caller: Caller | null, call: unknown) => Promise<unknown>;

/** Returns the handlers; each of them first checks the scope of an API token. */
export function withinScopes<Handlers extends object>(handlers: Handlers): Handlers {
  const checked = (id: string, handle: AnyHandler): AnyHandler => {
    return async (request, caller, call) => {
      if (caller !== null) refuseOutOfScope(id as OperationId, caller);
      return handle(request, caller, call);
    };
  };
  return Object.fromEntries(Object.entries(handlers).map(([id, handle]) => [id, checked(id, handle as AnyHandler)])) as Handlers;
}
