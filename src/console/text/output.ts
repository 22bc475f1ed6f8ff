/** Lines that Junos prints before its prompt: the configuration level, the routing engine. */
const context = /^(?:\{\w+(?::[\w-]+)?\})?(?:\[edit[^\]]*\])?$/;
const contextual = /^[\w.-]+@[\w.-]+[>#] ?$/;

/**
 * Returns a command's output without its end: the prompt, its repetitions for the empty lines that were sent meanwhile, its context lines (`[edit
 * interfaces]`) and line ends.
 */
export function withoutPrompts(text: string, prompt: string, emptyLines = 0): string {
  let end = text.endsWith(prompt) ? text.length - prompt.length : text.length;
  for (let more = emptyLines; ; ) {
    while (end > 0 && text[end - 1] === "\n") end -= 1;
    const start = text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, Math.min(end, start + 256));
    const again = more > 0 && line === prompt;
    if (end === 0 || !(again || (contextual.test(prompt) && context.test(line)))) return text.slice(0, end);
    if (again) more -= 1;
    end = start;
  }
}
