export type LogLevel = "debug" | "info" | "warn" | "error";

const numbers: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** Returns a log function for messages outside of requests. Lines have the form of the request log: level, time, pid, msg and fields. */
export function jsonLog(minLevel: LogLevel, write: (line: string) => void) {
  return (level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    if (numbers[level] < numbers[minLevel]) return;
    write(`${JSON.stringify({ level: numbers[level], time: Date.now(), pid: process.pid, ...plain(fields), msg: message })}\n`);
  };
}

/** Replaces errors by objects: JSON.stringify shows no field of an error. */
function plain(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value,
    ]),
  );
}
