/** Quotes a text of the host for a message. Of a longer one only the beginning. */
export function shortText(text: string): string {
  return JSON.stringify(cut(text, 60));
}

/** Returns at most so many characters. A longer text ends with "…". */
export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
