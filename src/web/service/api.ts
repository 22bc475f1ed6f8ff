import type { CallOptions, InputOf, JobMethods } from "../../client/browser.ts";
import { connect, LabwrightError } from "../../client/browser.ts";
import type { DataOf, OperationId } from "../../contract/operations.ts";

/** Dispatches "signedout" when a call is refused because no session exists, so that the page shows the sign-in form. */
export const signedOut = new EventTarget();

let shownUser: string | undefined;

/** The page is now that of this user. */
export function showsUser(user: string): void {
  shownUser = user;
}

/** Called when a stream has ended: signs the page out if its session has ended, and loads it again if another user has signed in meanwhile. */
export async function checkSession(): Promise<void> {
  try {
    const { username } = await call("getSession", {});
    if (shownUser !== undefined && username !== shownUser) location.reload();
  } catch {
    // The service is away, or the page is signed out by now.
  }
}

const page = connect();

/** Changes that run as jobs, so that a page can show their progress. */
export const changes: JobMethods = page;

/** Calls an operation with the cookie of this browser, or with a token. Throws LabwrightError. */
export async function call<Id extends OperationId>(
  id: Id,
  input: InputOf<Id>,
  { signal, token, timeoutMs }: { readonly signal?: AbortSignal; readonly token?: string; readonly timeoutMs?: number } = {},
): Promise<DataOf<Id>> {
  const methods = token === undefined ? page : connect({ token });
  try {
    return (await (methods[id] as (input: InputOf<Id>, options: CallOptions) => Promise<unknown>)(input, {
      signal,
      timeoutMs,
    })) as DataOf<Id>;
  } catch (error) {
    if (error instanceof LabwrightError && error.status === 401 && error.code !== "invalid_credentials") {
      signedOut.dispatchEvent(new Event("signedout"));
    }
    throw error;
  }
}
