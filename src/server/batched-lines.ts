/**
 * A stream for log lines: those of one turn of the event loop are written together, because one write costs a system call however short it is.
 * `flush` writes at once, for the end of the process.
 */
export function batchedLines(write: (text: string) => void) {
  let lines = "";
  const flush = () => {
    if (lines === "") return;
    const text = lines;
    lines = "";
    write(text);
  };
  return {
    write(line: string): void {
      if (lines === "") setImmediate(flush);
      lines += line;
    },
    flush,
  };
}
