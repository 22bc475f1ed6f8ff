import type { RefObject } from "preact";
import { useEffect, useReducer, useRef } from "preact/hooks";
import { type OpenTerminal, openTerminal } from "./open-terminal.ts";
import { initialTerminalState, type TerminalEvent, type TerminalState, terminalReducer } from "./terminal-state.ts";

interface TerminalInput {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
  readonly name: string;
  /** Whether it is a shell of its own instead of the console. */
  readonly isShell: boolean;
  /** The last known state of the node. */
  readonly status: string;
  /** Whether the terminal has the focus. */
  readonly focused: boolean;
  readonly onFocus: () => void;
}

export interface TerminalControl {
  readonly container: RefObject<HTMLDivElement | null>;
  readonly bar: RefObject<HTMLDivElement | null>;
  readonly state: TerminalState;
  readonly dispatch: (event: TerminalEvent) => void;
  /** Moves the focus back to the terminal. */
  readonly focus: () => void;
  readonly retry: () => void;
  readonly clear: () => void;
  readonly copy: () => Promise<void>;
  readonly paste: (text: string) => void;
  readonly find: (text: string, direction: "next" | "previous") => void;
}

/** How long a notice is shown, ms. */
const noticeMs = 3_000;

/** A terminal in the element of `container`, connected while the component is shown. */
export function useTerminal({ lab, node, name, isShell, status, focused, onFocus }: TerminalInput): TerminalControl {
  const container = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const terminal = useRef<OpenTerminal>(undefined);
  const latestOnFocus = useRef(onFocus);
  latestOnFocus.current = onFocus;
  const [state, dispatch] = useReducer(terminalReducer, initialTerminalState);
  const notify = (notice: string) => {
    dispatch({ type: "noticed", notice });
    setTimeout(() => dispatch({ type: "notice-expired", notice }), noticeMs);
  };
  const copy = async () => {
    const { text, isSelection } = terminal.current!.text();
    await navigator.clipboard.writeText(text).then(
      () => notify(isSelection ? "Selection copied" : "All copied"),
      () => notify("The browser does not allow this page to copy"),
    );
  };
  useEffect(() => {
    const opened = openTerminal(container.current!, {
      lab,
      node,
      name,
      isShell,
      onState: (link) => dispatch({ type: "link-changed", link }),
      onMultilinePaste: (paste) => dispatch({ type: "paste-requested", paste }),
      onFocus: () => latestOnFocus.current(),
      shortcuts: {
        KeyC: () => void copy(),
        KeyF: () => dispatch({ type: "search-opened" }),
        KeyL: () => bar.current?.querySelector("button")?.focus(),
      },
    });
    terminal.current = opened;
    return () => {
      opened.close();
      terminal.current = undefined;
    };
  }, [lab, node, isShell]);
  useEffect(() => {
    if (status === "running" || status === "starting") terminal.current?.nodeRuns();
  }, [status]);
  useEffect(() => {
    if (focused) terminal.current?.focus();
  }, [focused]);
  const focus = () => terminal.current?.focus();
  return {
    container,
    bar,
    state,
    dispatch,
    focus,
    retry: () => terminal.current?.retry(),
    clear: () => {
      terminal.current?.clear();
      focus();
    },
    copy,
    paste: (text) => terminal.current?.paste(text),
    find: (text, direction) => {
      if (text !== "") notify(terminal.current!.find(text, direction) ? "" : `“${text}” not found`);
    },
  };
}
