/** A line is written at the latest so many ms after it came, */
const longestWaitMs = 5;
/** or when so many characters have come. */
const mostCharacters = 64 << 10;

/**
 * A stream for log lines: those of a few milliseconds are written together, because one write costs a system call however short it is. `flush` writes at once, for
 * the end of the process.
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
      // The end of the process does not wait for it: it flushes.
      if (lines === "") timer = setTimeout(flush, longestWaitMs).unref();
      lines += line;
      if (lines.length >= mostCharacters) flush();
    },
    flush,
  };
}
