/** One line of the service's log. Fields never hold tokens, passwords, console text or intent contents. */
export type Log = (level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>) => void;
