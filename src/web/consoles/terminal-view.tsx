import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import { Confirm } from "../parts/confirm.tsx";
import { ConsoleLink, type LinkState } from "./console-link.ts";
import { type Paste, pasteOf } from "./paste.ts";
import { onThemeChange, terminalTheme } from "./terminal-theme.ts";

interface TerminalViewProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly name: string;
  /** Its power, as last heard. */
  readonly status: string;
  /** It is the one to type into. */
  readonly focused: boolean;
  readonly onFocus: () => void;
  readonly onClose: () => void;
}

/** What a terminal can be told from outside. */
interface Screen {
  readonly terminal: Terminal;
  readonly link: ConsoleLink;
  readonly search: SearchAddon;
}

/** Out of everything that a program may have set: other screen, mouse, pasted text in brackets, hidden cursor. */
const soft = "\x1b[!p\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m";

/** One console: a terminal and its bar. */
export function TerminalView({ lab, node, name, status, focused, onFocus, onClose }: TerminalViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen>(undefined);
  const latest = useRef({ onFocus });
  latest.current = { onFocus };
  const [state, setState] = useState<LinkState>({ kind: "connecting" });
  const [paste, setPaste] = useState<Paste>();
  const [searching, setSearching] = useState(false);
  const [told, setTold] = useState("");

  useEffect(() => {
    const place = box.current!;
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
      // The edge that is too narrow for a line, too.
      place.style.backgroundColor = theme.background ?? "";
    };
    paint();
    const fit = new FitAddon();
    const search = new SearchAddon();
    terminal.loadAddon(fit);
    terminal.loadAddon(search);
    terminal.open(place);
    terminal.textarea?.setAttribute("aria-label", `Console of ${name}. Control Shift L leaves it`);
    const say = (text: string) => terminal.write(`\r\n\x1b[1;33m── ${text}\x1b[0m\r\n`);
    const link = new ConsoleLink({
      lab,
      node,
      onBytes: (bytes) => terminal.write(bytes),
      onState: (next) => {
        setState(next);
        if (next.kind === "stopped") terminal.write(soft, () => say(`${name} is not running; it opens again when it starts`));
        else if (next.kind === "open" && next.again) say("connected again");
        else if (next.kind === "refused") say(wordsOf(next));
      },
    });
    screen.current = { terminal, link, search };

    const encoder = new TextEncoder();
    terminal.onData((text) => link.send(encoder.encode(text)));
    terminal.onBinary((text) => link.send(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
    const refit = () => {
      // A hidden one keeps its size.
      if (place.clientWidth > 0 && place.clientHeight > 0) fit.fit();
    };
    refit();
    link.resize(terminal.cols, terminal.rows);
    const resized = new ResizeObserver(refit);
    resized.observe(place);
    const themed = onThemeChange(paint);

    terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== "keydown" || !event.ctrlKey || !event.shiftKey) return true;
      const keys: Readonly<Record<string, () => void>> = {
        KeyC: () => void copy(),
        KeyF: () => setSearching(true),
        KeyL: () => bar.current?.querySelector("button")?.focus(),
      };
      const act = keys[event.code];
      if (act === undefined) return true;
      event.preventDefault();
      act();
      return false;
    });
    const pasted = (event: ClipboardEvent) => {
      event.preventDefault();
      event.stopPropagation();
      const given = pasteOf(event.clipboardData?.getData("text/plain") ?? "");
      if (given.lines > 1) setPaste(given);
      else terminal.paste(given.text);
    };
    // Before the terminal's own.
    place.addEventListener("paste", pasted, { capture: true });
    const entered = () => {
      // Whose window it is who types: another viewer may have set another size.
      link.resize(terminal.cols, terminal.rows);
      latest.current.onFocus();
    };
    terminal.textarea?.addEventListener("focus", entered);
    return () => {
      place.removeEventListener("paste", pasted, { capture: true });
      resized.disconnect();
      themed();
      link.close();
      terminal.dispose();
      screen.current = undefined;
    };
  }, [lab, node]);

  useEffect(() => {
    if (status === "running" || status === "starting") screen.current?.link.nodeRuns();
  }, [status]);
  useEffect(() => {
    if (focused) screen.current?.terminal.focus();
  }, [focused]);

  const tell = (text: string) => {
    setTold(text);
    setTimeout(() => setTold((now) => (now === text ? "" : now)), 3_000);
  };
  /** What is selected, else all that is there. */
  const copy = async () => {
    const { terminal } = screen.current!;
    const selected = terminal.getSelection();
    await navigator.clipboard.writeText(selected === "" ? textOf(terminal) : selected).then(
      () => tell(selected === "" ? "All copied" : "Selection copied"),
      () => tell("The browser does not let this page copy"),
    );
  };
  const find = (text: string, forwards: boolean) => {
    const { search } = screen.current!;
    if (text === "") return;
    const found = forwards ? search.findNext(text) : search.findPrevious(text);
    tell(found ? "" : `No “${text}” here`);
  };
  const back = () => screen.current?.terminal.focus();

  return (
    <section class={`tile${focused ? " focused" : ""}`} aria-label={`Console of ${name}`}>
      <div class="tile-bar" ref={bar}>
        <h2>
          <span class={`dot ${state.kind === "open" ? "running" : state.kind === "refused" ? "failed" : "starting"}`} aria-hidden="true" />{" "}
          {name}
        </h2>
        <output>{told || wordsOf(state)}</output>
        {(state.kind === "broken" || state.kind === "refused") && (
          <button type="button" onClick={() => screen.current?.link.retry()}>
            Try now
          </button>
        )}
        <button type="button" aria-expanded={searching} onClick={() => setSearching(!searching)}>
          Search
        </button>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <button
          type="button"
          onClick={() => {
            screen.current?.terminal.clear();
            back();
          }}
        >
          Clear
        </button>
        <button type="button" onClick={onClose} aria-label={`Close the console of ${name}`}>
          ×
        </button>
      </div>
      {searching && (
        <form
          class="tile-search"
          onSubmit={(event) => {
            event.preventDefault();
            find(new FormData(event.currentTarget).get("text") as string, false);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            setSearching(false);
            back();
          }}
        >
          <input type="search" name="text" aria-label={`Search the console of ${name}`} placeholder="Search" ref={focusNow} />
          <button type="submit">Earlier</button>
          <button type="button" onClick={(event) => find(new FormData(event.currentTarget.form!).get("text") as string, true)}>
            Later
          </button>
        </form>
      )}
      <div class="screen" ref={box} />
      {paste !== undefined && (
        <Confirm
          title={`Paste ${paste.lines} lines into ${name}?`}
          action="Paste"
          onCancel={() => {
            setPaste(undefined);
            back();
          }}
          onConfirm={() => {
            setPaste(undefined);
            screen.current?.terminal.paste(paste.text);
            back();
          }}
        >
          <span class="pasted">{paste.text.length > 2_000 ? `${paste.text.slice(0, 2_000)}…` : paste.text}</span>
          Each line runs as soon as it is there.
        </Confirm>
      )}
    </section>
  );
}

function focusNow(input: HTMLInputElement | null): void {
  input?.focus();
}

function wordsOf(state: LinkState): string {
  switch (state.kind) {
    case "connecting":
      return "Connecting…";
    case "open":
      return "Connected";
    case "stopped":
      return "Not running; waits for its start";
    case "broken":
      return "Connection lost; trying again";
    case "refused":
      return state.error instanceof LabwrightError ? state.error.message : String(state.error);
  }
}

/** All lines, those that were wrapped in one, without the empty ones at the end. */
function textOf(terminal: Terminal): string {
  const { active } = terminal.buffer;
  let text = "";
  for (let at = 0; at < active.length; at++) {
    const line = active.getLine(at);
    if (line === undefined) continue;
    const wrapped = active.getLine(at + 1)?.isWrapped === true;
    text += `${line.translateToString(!wrapped)}${wrapped ? "" : "\n"}`;
  }
  return text.trimEnd();
}
