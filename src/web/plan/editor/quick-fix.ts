import type { Diagnostic } from "../../../contract/schemas/project.ts";

/** An edit that a hint proposes. */
export interface QuickFix {
  /** The word that replaces the one of the message. */
  readonly replacement: string;
  readonly apply: (yaml: string) => string;
}

/**
 * Returns the edit of a message such as `unknown key "templat"` with the hint `did you mean "template"?`: the word is replaced in the marked text, of which
 * it may be a part. undefined: there is no such hint, or the marked text does not contain the word.
 */
export function quickFix({ file, message, hint, line, column, end_line, end_column }: Diagnostic, yaml: string): QuickFix | undefined {
  const replacement = /^did you mean "([^"]+)"\?/.exec(hint ?? "")?.[1];
  if (replacement === undefined || file !== undefined || line !== end_line) return undefined;
  const marked = (yaml.split("\n")[line - 1] ?? "").slice(column - 1, end_column - 1);
  const word = [...message.matchAll(/"([^"]+)"/g)].map(([, quoted]) => quoted!).find((quoted) => marked.includes(quoted));
  if (word === undefined) return undefined;
  return {
    replacement,
    apply: (text) => {
      const lines = text.split("\n");
      const before = lines[line - 1] ?? "";
      // The text was edited meanwhile.
      if (before.slice(column - 1, end_column - 1) !== marked) return text;
      lines[line - 1] = `${before.slice(0, column - 1)}${marked.replace(word, () => replacement)}${before.slice(end_column - 1)}`;
      return lines.join("\n");
    },
  };
}
