/** Pagers that wait for a key, and the key for the next page (or to quit at the end). Matched against the line of the cursor. */
const pagers: readonly { readonly shown: RegExp; readonly key: string }[] = [
  { shown: /\(END\)\s*$/, key: "q" },
  { shown: /^.{0,20}-+ ?\(?more\b.{0,40}$/i, key: " " },
  { shown: /^\s*(?:\S+ )?lines \d+-\d+(?:\/\d+)?(?: \d+%)?\s*$/, key: " " },
  { shown: /^:\s*$/, key: " " },
  { shown: /^HELP -- Press RETURN for more/, key: "q" },
  { shown: /press (?:any key|return|enter|space)\b.*$/i, key: "\r" },
];

/** less shows a file's name in reverse video before the first key. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches escape sequences
const reversed = /\x1b\[(?:0?;)?7m[^\x1b\n]+\x1b\[(?:27|0)?m(?:\x1b\[K)?$/;

/** Returns the key that a pager waits for if the cursor's line is a pager's. `raw` is that line with its escape sequences. */
export function pagerKey(line: string, raw: string): string | undefined {
  return pagers.find(({ shown }) => shown.test(line))?.key ?? (reversed.test(raw) ? " " : undefined);
}

/** Whether the line asks for a user name or password; then there is no prompt to run a command at. */
export function asksLogin(line: string): boolean {
  return /(?:^|\s)(?:login|username|user name|password|passphrase):\s*$/i.test(line);
}

/** Whether such a line asks for the password. */
export function asksPassword(line: string): boolean {
  return /(?:password|passphrase):\s*$/i.test(line);
}

/** Whether a line looks like a prompt: short, and ending with a prompt's mark. */
export function looksLikePrompt(line: string): boolean {
  return line.length <= 120 && /[>#$%❯»]\s?$/u.test(line) && !/^\s+$/.test(line);
}

/**
 * Returns the line without control characters at its start, which a terminal echoes while no program reads: `^@` of a telnet line end, `^C`, `^U`. A
 * line with nothing else is typed text, not a prompt.
 */
export function withoutCarets(line: string): string {
  return line.replace(/^(?:\^[@-_?])+/, "");
}

/** The shell's second prompt, when a quote or a block is still open. */
export function isContinuation(line: string): boolean {
  return /^(?:(?:c?quote|d?quote|heredoc|bquote|cmdsubst|pipe)?>|\.\.\.) ?$/.test(line);
}

/**
 * Whether `line` is a prompt of the same device as the detected one: equal, or with another mode or directory (`r1# ` → `r1(config-router)# `,
 * `root@h:~# ` → `root@h:/etc# `, `sw> ` → `sw# `).
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
