/** Returns whether the text is like the pattern, in which `*` stands for any text. Compares without regard to case. Linear: each `*` is looked for once. */
export function matches(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.toLowerCase().split("*");
  const whole = text.toLowerCase();
  if (rest.length === 0) return whole === first;
  if (!whole.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? "";
  for (const part of rest) {
    const found = whole.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return whole.length - last.length >= at && whole.endsWith(last);
}
