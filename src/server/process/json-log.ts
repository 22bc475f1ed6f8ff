export type LogLevel = "debug" | "info" | "warn" | "error";

const numbers: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** Lines for what is no request, in the form of the server's own: level, time, pid, msg and fields. */
export function jsonLog(lowest: LogLevel, write: (line: string) => void) {
  return (level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    if (numbers[level] < numbers[lowest]) return;
    write(`${JSON.stringify({ level: numbers[level], time: Date.now(), pid: process.pid, ...plain(fields), msg: message })}\n`);
  };
}

/** Errors have no fields of their own that JSON would show. */
function plain(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value,
    ]),
  );
}
