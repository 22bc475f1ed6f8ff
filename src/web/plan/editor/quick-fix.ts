import type { Diagnostic } from "../../../contract/schemas/project.ts";

/** An edit that a hint proposes. */
export interface QuickFix {
  /** The word that replaces the one of the message. */
  readonly replacement: string;
  readonly apply: (yaml: string) => string;
}

interface Proposal {
  /** Absent: a quoted word of the message that the marked text contains. */
  readonly word?: string;
  readonly replacement: string;
}

/** Returns what a hint, or the message of a host such as `the host has no template frrx; did you mean frr?`, proposes. */
function proposalOf({ message, hint }: Diagnostic): Proposal | undefined {
  const hinted = /^did you mean "([^"]+)"\?/.exec(hint ?? "")?.[1];
  if (hinted !== undefined) return { replacement: hinted };
  const [, word, replacement] = /(\S+); did you mean ([^\s?]+)\?/.exec(message) ?? [];
  return word === undefined || replacement === undefined ? undefined : { word, replacement };
}

/**
 * Returns the edit of a message such as `unknown key "templat"` with the hint `did you mean "template"?`: the word is replaced in the marked text, of which
 * it may be a part. undefined: there is no such hint, or the marked text does not contain the word.
 */
export function quickFix(problem: Diagnostic, yaml: string): QuickFix | undefined {
  const { file, message, line, column, end_line, end_column } = problem;
  const proposal = proposalOf(problem);
  if (proposal === undefined || file !== undefined || line !== end_line) return undefined;
  const { replacement } = proposal;
  const marked = (yaml.split("\n")[line - 1] ?? "").slice(column - 1, end_column - 1);
  const words = proposal.word === undefined ? [...message.matchAll(/"([^"]+)"/g)].map(([, quoted]) => quoted!) : [proposal.word];
  const word = words.find((one) => marked.includes(one));
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
