import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentService, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter, lintGutter, lintKeymap, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { type Names, suggestionsAt } from "./suggestions.ts";

export interface YamlEditorOptions {
  readonly text: string;
  readonly label: string;
  readonly readOnly: boolean;
  /** What is wrong with a text; asked a moment after the last key. */
  readonly check: (text: string) => Promise<readonly Diagnostic[]>;
  /** What may be completed; asked when somebody wants it. */
  readonly names: () => Promise<Names>;
  readonly onChange: (text: string) => void;
}

export interface YamlEditor {
  setText(text: string): void;
  goTo(line: number): void;
  /** Asks for problems anew: something beside the text changed. */
  recheck(): void;
  close(): void;
}

/** What follows a key that has no value yet stands below it, two further in. */
const indentBelowKeys = indentService.of((context, at) => {
  const { text } = context.lineAt(at, -1);
  const open = /^( *)((?:- )*)[^#]*:(?: [|>][+-]?)? *$/.exec(context.simulatedBreak === null ? "" : text);
  return open === null ? undefined : open[1]!.length + open[2]!.length + 2;
});

const recheck = StateEffect.define<null>();

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--good)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--soft)" },
]);

const look = EditorView.theme({
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
 * An editor of a lab's YAML in a shadow tree of `parent`: there its styles are sheets made by script, which a page's policy allows, and not style
 * elements, which it refuses.
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
        // It can be edited, and so have the focus, anyway: said for those who look for what scrolls and cannot.
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        yaml(),
        syntaxHighlighting(colours),
        look,
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
        // Escape, then Tab leaves the editor; CodeMirror sees to it.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
      ],
    }),
  });
  forceLinting(view);
  return {
    setText: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    goTo: (line) => {
      const { from } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    recheck: () => view.dispatch({ effects: recheck.of(null) }),
    close: () => view.destroy(),
  };
}

/** A problem of a file beside the YAML is shown where the YAML begins. */
function markOf({ severity, message, hint, file, line, column, end_line, end_column }: Diagnostic, { doc }: EditorState): Mark {
  const at = (row: number, place: number) => {
    const { from, to } = doc.line(Math.min(Math.max(1, row), doc.lines));
    return Math.min(to, from + Math.max(0, place - 1));
  };
  const words = `${file === undefined ? "" : `${file}:${line}: `}${message}${hint === undefined ? "" : ` – ${hint}`}`;
  if (file !== undefined) return { from: 0, to: 0, severity, message: words };
  const from = at(line, column);
  return { from, to: Math.max(from, at(end_line, end_column)), severity, message: words };
}
