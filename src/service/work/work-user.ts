import { AsyncLocalStorage } from "node:async_hooks";

/** For whom a call is worked on: its user's name. Without one it is the service's own work. */
export const workUser = new AsyncLocalStorage<string>();
