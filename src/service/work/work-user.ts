import { AsyncLocalStorage } from "node:async_hooks";

/** The name of the user for whom the current call works. Not set for the service's own work. */
export const workUser = new AsyncLocalStorage<string>();
