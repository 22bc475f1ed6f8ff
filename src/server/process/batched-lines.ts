/** A line is written at most this time after it arrived, */
const maxWaitMs = 5;
/** or as soon as this many characters wait. */
const maxCharacters = 64 << 10;

/**
 * Collects the log lines of a few milliseconds and writes them together: each write is a system call, however short it is. Call `flush` at the end of the
 * process, which does not wait for the timer.
 */
export function batchedLines(write: (text: string) => void) {
  let lines = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    if (lines === "") return;
    const text = lines;
    lines = "";
    write(text);
  };
  return {
    write(line: string): void {
      if (lines === "") timer = setTimeout(flush, maxWaitMs).unref();
      lines += line;
      if (lines.length >= maxCharacters) flush();
    },
    flush,
  };
}
