import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentService, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter, lintGutter, lintKeymap, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { changedPart } from "./changed-part.ts";
import { type Names, suggestionsAt } from "./suggestions.ts";

export interface YamlEditorOptions {
  readonly text: string;
  readonly label: string;
  readonly readOnly: boolean;
  /** Returns the problems of a text; called shortly after the last key. */
  readonly check: (text: string) => Promise<readonly Diagnostic[]>;
  /** Returns the inputs of completion; called when the user asks for completions. */
  readonly names: () => Promise<Names>;
  readonly onChange: (text: string) => void;
}

export interface YamlEditor {
  setText(text: string): void;
  goTo(line: number): void;
  /** Checks the text again, after a change of a file beside it. */
  recheck(): void;
  close(): void;
}

/** Indents a new line after a key without a value by two. */
const indentBelowKeys = indentService.of((context, at) => {
  const { text } = context.lineAt(at, -1);
  const open = /^( *)((?:- )*)[^#]*:(?: [|>][+-]?)? *$/.exec(context.simulatedBreak === null ? "" : text);
  return open === null ? undefined : open[1]!.length + open[2]!.length + 2;
});

/** Characters that draw the text after them in another order than it has. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069]/gu;

const recheck = StateEffect.define<null>();

const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--good)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--soft)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "14px", backgroundColor: "var(--paper)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-content, .cm-gutters": { fontFamily: "var(--mono)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--back)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 8%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

/**
 * Opens an editor of a lab's YAML in a shadow root of `parent`. In a shadow root CodeMirror uses constructed style sheets, which the page's content
 * security policy allows, instead of style elements, which it refuses.
 */
export function yamlEditor(parent: HTMLElement, { text, label, readOnly, check, names, onChange }: YamlEditorOptions): YamlEditor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightSpecialChars({ addSpecialChars: directionMarks }),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        indentUnit.of("  "),
        indentBelowKeys,
        EditorState.tabSize.of(2),
        EditorState.readOnly.of(readOnly),
        // Editable content always gets the focus; the attribute is for accessibility checkers, which report a scrollable region without it.
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        yaml(),
        syntaxHighlighting(highlighting),
        theme,
        autocompletion({
          override: [
            async ({ state, pos, explicit }) => {
              const found = suggestionsAt(state.doc.sliceString(0, pos), await names());
              if (found === undefined || (!explicit && found.typed === "")) return null;
              return { from: pos - found.typed.length, options: [...found.options], validFor: /^[\w.:-]*$/ };
            },
          ],
        }),
        linter(async ({ state }) => (await check(state.doc.toString())).map((each) => markOf(each, state)), {
          delay: 400,
          needsRefresh: ({ transactions }) => transactions.some(({ effects }) => effects.some((effect) => effect.is(recheck))),
        }),
        EditorView.updateListener.of(({ docChanged, state }) => docChanged && onChange(state.doc.toString())),
        // CodeMirror leaves the editor on Escape, then Tab.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
      ],
    }),
  });
  forceLinting(view);
  return {
    setText: (next) => {
      const changes = changedPart(view.state.doc.toString(), next);
      if (changes === undefined) return;
      // The cursor stays in its line, and the edit of the drawing is seen.
      view.dispatch({ changes, effects: EditorView.scrollIntoView(changes.from, { y: "nearest", yMargin: 48 }) });
    },
    goTo: (line) => {
      const { from } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    recheck: () => view.dispatch({ effects: recheck.of(null) }),
    close: () => view.destroy(),
  };
}

/** Converts a problem to a mark of the editor. A problem of another file is marked at the start of the YAML. */
function markOf({ severity, message, hint, file, line, column, end_line, end_column }: Diagnostic, { doc }: EditorState): Mark {
  const at = (row: number, place: number) => {
    const { from, to } = doc.line(Math.min(Math.max(1, row), doc.lines));
    return Math.min(to, from + Math.max(0, place - 1));
  };
  const text = `${file === undefined ? "" : `${file}:${line}: `}${message}${hint === undefined ? "" : ` – ${hint}`}`;
  if (file !== undefined) return { from: 0, to: 0, severity, message: text };
  const from = at(line, column);
  return { from, to: Math.max(from, at(end_line, end_column)), severity, message: text };
}
