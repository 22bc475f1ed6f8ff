/** Pagers that wait for a key, and the key that goes on (or leaves, where nothing is left). Matched against the line the cursor stands on. */
const pagers: readonly { readonly shown: RegExp; readonly key: string }[] = [
  { shown: /\(END\)\s*$/, key: "q" },
  { shown: /^.{0,20}-+ ?\(?more\b.{0,40}$/i, key: " " },
  { shown: /^\s*(?:\S+ )?lines \d+-\d+(?:\/\d+)?(?: \d+%)?\s*$/, key: " " },
  { shown: /^:\s*$/, key: " " },
  { shown: /^HELP -- Press RETURN for more/, key: "q" },
  { shown: /press (?:any key|return|enter|space)\b.*$/i, key: "\r" },
];

/** less shows a file's name in reverse video before the first key. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
const reversed = /\x1b\[(?:0?;)?7m[^\x1b\n]+\x1b\[(?:27|0)?m(?:\x1b\[K)?$/;

/** The key that a pager waits for, when the line the cursor stands on is a pager's; `raw` is that line with its escape sequences. */
export function pagerKey(line: string, raw: string): string | undefined {
  return pagers.find(({ shown }) => shown.test(line))?.key ?? (reversed.test(raw) ? " " : undefined);
}

/** Whether the line asks who is there; then there is no prompt to run a command at. */
export function asksLogin(line: string): boolean {
  return /(?:^|\s)(?:login|username|user name|password|passphrase):\s*$/i.test(line);
}

/** Of such a line: whether it is the secret that is asked for. */
export function asksPassword(line: string): boolean {
  return /(?:password|passphrase):\s*$/i.test(line);
}

/** A line that looks as prompts do: short, and ending with one of their marks. */
export function looksLikePrompt(line: string): boolean {
  return line.length <= 120 && /[>#$%❯»]\s?$/u.test(line) && !/^\s+$/.test(line);
}

/**
 * The line without the control characters at its start that a terminal echoes while no program reads: `^@` of a telnet line end, `^C`, `^U`. A line
 * of nothing else is what was typed, not a prompt.
 */
export function withoutCarets(line: string): string {
  return line.replace(/^(?:\^[@-_?])+/, "");
}

/** Left when a quote or a block is still open: the shells' second prompt. */
export function isContinuation(line: string): boolean {
  return /^(?:(?:c?quote|d?quote|heredoc|bquote|cmdsubst|pipe)?>|\.\.\.) ?$/.test(line);
}

/**
 * Whether `line` is a prompt of the same place as the learned one: the same, or the same host with another mode or directory
 * (`r1# ` → `r1(config-router)# `, `root@h:~# ` → `root@h:/etc# `, `sw> ` → `sw# `).
 */
export function samePlace(learned: string, line: string): boolean {
  if (line === learned) return true;
  if (!looksLikePrompt(line)) return false;
  const stem = stemOf(learned);
  return stem.length > 1 && stemOf(line) === stem;
}

function stemOf(prompt: string): string {
  const bare = prompt.trimEnd().replace(/[>#$%❯»]$/u, "");
  const shell = /^(.*\S@[^\s:]+)[:\s]/.exec(bare);
  if (shell?.[1] !== undefined) return shell[1];
  return bare.replace(/\([^)]*\)$/, "").trimEnd();
}
