/** Returns a text as one word of a POSIX shell, quoted if needed: commands in hints can be pasted. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
