import { Confirm } from "../../dialog/confirm.tsx";
import { linkDot, statusText } from "./terminal-state.ts";
import { type TerminalControl, useTerminal } from "./use-terminal.ts";

interface TerminalViewProps {
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
  readonly onClose: () => void;
}

/** Longer pastes are cut in the question, characters. */
const maxPreview = 2_000;

/** One console or shell: a bar, a search form and a terminal. */
export function TerminalView({ onClose, ...input }: TerminalViewProps) {
  const { name, isShell, focused } = input;
  const title = `${isShell ? "Shell" : "Console"} of ${name}`;
  const control = useTerminal(input);
  const { container, bar, state, dispatch, focus, retry, clear, copy } = control;
  const { link, isSearching } = state;
  return (
    <section class={`tile${focused ? " focused" : ""}`} aria-label={title}>
      <div class="tile-bar" ref={bar}>
        <h2>
          <span class={`dot ${linkDot(link)}`} aria-hidden="true" /> {name}
          {isShell && " (shell)"}
        </h2>
        <output>{statusText(state)}</output>
        {(link.kind === "broken" || link.kind === "refused" || link.kind === "ended") && (
          <button type="button" onClick={retry}>
            {isShell ? "New shell" : "Reconnect"}
          </button>
        )}
        <button
          type="button"
          aria-expanded={isSearching}
          onClick={() => dispatch({ type: isSearching ? "search-closed" : "search-opened" })}
        >
          Search
        </button>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
        <button type="button" onClick={onClose} aria-label={`Close the ${isShell ? "shell" : "console"} of ${name}`}>
          ×
        </button>
      </div>
      {isSearching && (
        <SearchForm
          name={name}
          onFind={control.find}
          onClose={() => {
            dispatch({ type: "search-closed" });
            focus();
          }}
        />
      )}
      <div class="screen" ref={container} />
      <PasteQuestion name={name} control={control} />
    </section>
  );
}

interface SearchFormProps {
  readonly name: string;
  readonly onFind: TerminalControl["find"];
  readonly onClose: () => void;
}

/** Searches the terminal: Enter goes to earlier matches, as in a shell's history. */
function SearchForm({ name, onFind, onClose }: SearchFormProps) {
  const textOf = (form: HTMLFormElement) => new FormData(form).get("text") as string;
  return (
    <form
      class="tile-search"
      onSubmit={(event) => {
        event.preventDefault();
        onFind(textOf(event.currentTarget), "previous");
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <input type="search" name="text" aria-label={`Search the console of ${name}`} placeholder="Search" ref={focusInput} />
      <button type="submit">Previous</button>
      <button type="button" onClick={(event) => onFind(textOf(event.currentTarget.form!), "next")}>
        Next
      </button>
    </form>
  );
}

/** Asks before several lines are pasted. */
function PasteQuestion({ name, control }: { readonly name: string; readonly control: TerminalControl }) {
  const { state, dispatch, paste: write, focus } = control;
  const { paste } = state;
  if (paste === undefined) return null;
  const close = () => {
    dispatch({ type: "paste-ended" });
    focus();
  };
  return (
    <Confirm
      title={`Paste ${paste.lines} lines into ${name}?`}
      action="Paste"
      onCancel={close}
      onConfirm={() => {
        write(paste.text);
        close();
      }}
    >
      <span class="pasted">{paste.text.length > maxPreview ? `${paste.text.slice(0, maxPreview)}…` : paste.text}</span>
      Each line runs as soon as it is pasted.
    </Confirm>
  );
}

function focusInput(input: HTMLInputElement | null): void {
  input?.focus();
}
