/** Names of the signals that end programs, by number. */
const signals: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
  24: "SIGXCPU",
  31: "SIGSYS",
};

/** Returns the name of the signal that an exit code stands for, as shells and containers count: 128 and its number. */
export function signalOfExitCode(code: number): string | undefined {
  return signals[code - 128];
}

/** Returns `exit code 137 (SIGKILL)`. */
export function exitCodeText(code: number): string {
  const signal = signalOfExitCode(code);
  return `exit code ${code}${signal === undefined ? "" : ` (${signal})`}`;
}
