import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The pages of the project and their fenced blocks, for the tests that check and run them. */

export const root = fileURLToPath(new URL("..", import.meta.url));

export interface Page {
  readonly name: string;
  readonly text: string;
}

const names = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"];
for (const name of readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }))
  if (name.endsWith(".md")) names.push(join("docs", name));
export const pages: readonly Page[] = names.sort().map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));

export interface Block {
  readonly page: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** The words behind the fence without options: "yaml lab", "sh", "console", "". */
  readonly kind: string;
  /** `name="value"`, `name=value` and bare words such as `retry` behind the fence. */
  readonly options: Readonly<Record<string, string>>;
  readonly text: string;
}

const bareOptions = ["retry"];

export const blocks: readonly Block[] = pages.flatMap(({ name, text }) =>
  [...text.matchAll(/^( *)```(.*?)\n(.*?)^\1```$/gms)].map((match) => {
    const [, indent = "", info = "", code = ""] = match;
    const options: Record<string, string> = {};
    const kind = info
      .replaceAll(/(\w+)=(?:"([^"]*)"|(\S+))/g, (_all, key: string, quoted?: string, plain?: string) => {
        options[key] = quoted ?? plain ?? "";
        return "";
      })
      .split(/\s+/)
      .filter((word) => {
        if (bareOptions.includes(word)) options[word] = "";
        return word !== "" && !bareOptions.includes(word);
      })
      .join(" ");
    const line = text.slice(0, match.index).split("\n").length;
    return { page: name, line, kind, options, text: code.replaceAll(new RegExp(`^${indent}`, "gm"), "") };
  }),
);

/** Pages that a reader follows with a keyboard: each command in them is run, or its block gives the reason why not. */
export function isFollowed(page: string): boolean {
  return /^docs\/(how-to\/.*|tutorial|troubleshooting|upgrading)\.md$/.test(page);
}
