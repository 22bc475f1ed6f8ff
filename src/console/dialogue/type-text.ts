import { isEchoed } from "../text/echo.ts";
import { lastLine, renderText } from "../text/terminal.ts";
import type { Transcript } from "../text/transcript.ts";

/** How long to wait at most for the echo of a text, ms, and how many other characters may come meanwhile. */
const echoMs = 3_000;
const echoNoise = 32 << 10;
/** How long the console must be quiet, ms: after the echo, before the first byte, and in the middle of an echo. */
const quietMs = { echoed: 25, silent: 800, begun: 400 } as const;
/** A longer text may be scrolled sideways, and its echo pauses. */
const longText = 1_000;
/** A console that loses a text this often has another problem than keys that were queued. */
const maxAttempts = 3;

export interface TypingOptions {
  /** The cursor's line before. Undefined or empty: the text is typed only once. */
  readonly prompt: string | undefined;
  /** Waits for a change, at most `ms`. Throws if the caller gives up. */
  readonly change: (ms: number) => Promise<boolean>;
  /** Called with the output of an attempt whose text was lost, before the text is typed again. */
  readonly onLost?: (output: string) => void;
}

export interface Typed {
  /** The whole text was echoed. */
  readonly shown: boolean;
  /** No output came: the console does not echo. */
  readonly silent: boolean;
}

/**
 * Types a text without its line end and waits for its echo. Clears the transcript first. A VPCS drops a text that it reads together with an earlier
 * line end: the same prompt returns without the echo. Then the text is typed again. It cannot run twice, because its line end is sent later.
 */
export async function typeText(console: Transcript, text: string, { prompt, change, onLost }: TypingOptions): Promise<Typed> {
  for (let attempt = 1; ; attempt += 1) {
    console.clear();
    console.send(text);
    const shown = await echoed(console, text, change);
    if (shown || attempt === maxAttempts || !isLost(console, text, prompt)) return { shown, silent: console.length === 0 };
    onLost?.(console.text());
  }
}

async function echoed(console: Transcript, text: string, change: TypingOptions["change"]): Promise<boolean> {
  const giveUp = performance.now() + echoMs;
  let shown = false;
  while (console.length <= echoNoise + 8 * text.length && performance.now() < giveUp) {
    shown = isEchoed(console.text(), text);
    const begun = console.length > 0 && text.length < longText;
    if (!(await change(shown ? quietMs.echoed : begun ? quietMs.begun : quietMs.silent))) break;
  }
  return shown;
}

/** Whether only the same prompt came on a new line: an earlier line end was answered, and the text is lost. */
function isLost(console: Transcript, text: string, prompt = ""): boolean {
  if (prompt.trim() === "" || text.trim() === "" || !console.tail.includes("\n")) return false;
  if (lastLine(console.tail).trimEnd() !== prompt.trimEnd()) return false;
  return renderText(console.text())
    .split("\n")
    .every((line) => ["", prompt.trimEnd()].includes(line.trimEnd()));
}
