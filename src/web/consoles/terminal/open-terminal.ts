import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { ConsoleLink, type LinkState, type TerminalLink } from "./console-link.ts";
import { linkStateText } from "./link-state-text.ts";
import { type Paste, pasteOf } from "./paste.ts";
import { ShellLink } from "./shell-link.ts";
import { onThemeChange, terminalTheme } from "./terminal-theme.ts";

export interface TerminalOptions {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly name: string;
  /** Whether it is a shell of its own instead of the console. */
  readonly isShell: boolean;
  readonly onState: (state: LinkState) => void;
  /** Called for a paste of several lines. A single line is pasted at once. */
  readonly onMultilinePaste: (paste: Paste) => void;
  /** Called when the user moves the focus into the terminal; not for `focus()`. */
  readonly onFocus: () => void;
  /** Shortcuts with Ctrl+Shift, by the code of their key. */
  readonly shortcuts: Readonly<Record<string, () => void>>;
}

/** A terminal that is connected to a node's console or to a shell in the node. */
export interface OpenTerminal {
  focus(): void;
  clear(): void;
  paste(text: string): void;
  /** Selects the next or previous match. Returns whether there is one. */
  find(text: string, direction: "next" | "previous"): boolean;
  /** Returns the selected text, or without a selection the whole buffer. */
  text(): { readonly text: string; readonly isSelection: boolean };
  /** Connects at once instead of after the retry delay. */
  retry(): void;
  /** Reports that the node runs: a terminal that waits for it connects. */
  nodeRuns(): void;
  close(): void;
}

/** Resets what a program may have set: alternate screen, mouse reports, bracketed paste, hidden cursor. */
const softReset = "\x1b[!p\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m";

/** Opens a terminal in an element, and connects it to the console of a node or to a new shell. */
export function openTerminal(container: HTMLElement, options: TerminalOptions): OpenTerminal {
  const { name, isShell, onMultilinePaste, onFocus } = options;
  const terminal = new Terminal({
    fontFamily: '"DejaVu Sans Mono", Menlo, Consolas, monospace',
    fontSize: 13,
    scrollback: 10_000,
    minimumContrastRatio: 4.5,
    macOptionIsMeta: true,
  });
  const paint = () => {
    const theme = terminalTheme();
    terminal.options.theme = theme;
    // The terminal does not cover the strip below its last full line.
    container.style.backgroundColor = theme.background ?? "";
  };
  paint();
  const fit = new FitAddon();
  const search = new SearchAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  terminal.open(container);
  terminal.textarea?.setAttribute("aria-label", `${isShell ? "Shell" : "Console"} of ${name}. Control Shift L leaves it`);
  const link = connectLink(terminal, options);

  const refit = () => {
    // A hidden terminal keeps its size.
    if (container.clientWidth > 0 && container.clientHeight > 0) fit.fit();
  };
  refit();
  link.resize(terminal.cols, terminal.rows);
  const resized = new ResizeObserver(refit);
  resized.observe(container);
  const removeThemeListener = onThemeChange(paint);
  addShortcuts(terminal, options.shortcuts);
  const onPaste = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const paste = pasteOf(event.clipboardData?.getData("text/plain") ?? "");
    if (paste.lines > 1) onMultilinePaste(paste);
    else terminal.paste(paste.text);
  };
  // In the capture phase: before the terminal's own listener.
  container.addEventListener("paste", onPaste, { capture: true });
  let isFocusedByPage = false;
  terminal.textarea?.addEventListener("focus", () => {
    // The console gets the window size of the viewer who types: another viewer may have set another size.
    link.resize(terminal.cols, terminal.rows);
    // Two terminals whose pages both react to the focus would take it from each other without end.
    if (!isFocusedByPage) onFocus();
  });
  return {
    focus: () => {
      if (container.contains(document.activeElement)) return;
      isFocusedByPage = true;
      terminal.focus();
      isFocusedByPage = false;
    },
    clear: () => terminal.clear(),
    paste: (text) => terminal.paste(text),
    find: (text, direction) => (direction === "next" ? search.findNext(text) : search.findPrevious(text)),
    text: () => {
      const selection = terminal.getSelection();
      return selection === "" ? { text: bufferText(terminal), isSelection: false } : { text: selection, isSelection: true };
    },
    retry: () => link.retry(),
    nodeRuns: () => link.nodeRuns(),
    close: () => {
      container.removeEventListener("paste", onPaste, { capture: true });
      resized.disconnect();
      removeThemeListener();
      link.close();
      terminal.dispose();
    },
  };
}

/** Connects a terminal to the node, and writes changes of the connection into it. */
function connectLink(terminal: Terminal, { lab, node, name, isShell, onState }: TerminalOptions): TerminalLink {
  const writeNotice = (text: string) => terminal.write(`\r\n\x1b[1;33m── ${text}\x1b[0m\r\n`);
  const Link = isShell ? ShellLink : ConsoleLink;
  const link = new Link({
    lab,
    node,
    onBytes: (bytes) => terminal.write(bytes),
    onState: (state) => {
      onState(state);
      if (state.kind === "stopped") {
        terminal.write(softReset, () => writeNotice(`${name} is not running; the console opens again when it starts`));
      } else if (state.kind === "open" && state.again) writeNotice(isShell ? "a new shell" : "connected again");
      else if (state.kind === "ended") terminal.write(softReset, () => writeNotice(linkStateText(state)));
      else if (state.kind === "refused") writeNotice(linkStateText(state));
    },
  });
  const encoder = new TextEncoder();
  terminal.onData((text) => link.send(encoder.encode(text)));
  terminal.onBinary((text) => link.send(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
  return link;
}

function addShortcuts(terminal: Terminal, shortcuts: TerminalOptions["shortcuts"]): void {
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey) return true;
    const act = shortcuts[event.code];
    if (act === undefined) return true;
    event.preventDefault();
    act();
    return false;
  });
}

/** Returns all lines of the buffer, wrapped lines joined, without the empty lines at the end. */
function bufferText(terminal: Terminal): string {
  const { active } = terminal.buffer;
  let text = "";
  for (let at = 0; at < active.length; at++) {
    const line = active.getLine(at);
    if (line === undefined) continue;
    const isWrapped = active.getLine(at + 1)?.isWrapped === true;
    text += `${line.translateToString(!isWrapped)}${isWrapped ? "" : "\n"}`;
  }
  return text.trimEnd();
}
