import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** What a person types in front of a command of this program: it was started by npm, and the shell does not find it by its own name. */
export function programName(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const typed = { labwright: "npm run labwright --", npx: "npx labwright" }[env.npm_lifecycle_event ?? ""];
  return typed === undefined || isOnPath(env.PATH ?? "") ? "labwright" : typed;
}

/** Whether the person's shell finds the program: npm adds folders of its own, which the shell does not have. */
function isOnPath(path: string): boolean {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "" && !/[\\/]node_modules[\\/]\.bin$/.test(folder))
    .some((folder) => isExecutable(join(folder, "labwright")));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Spells commands in texts for people as they can be typed: "labwright apply" becomes "npm run labwright -- apply". */
export function commandSpeller(commands: readonly string[], name: string): (text: string) => string {
  if (name === "labwright") return (text) => text;
  const pattern = new RegExp(`(?<![\\w/.-])labwright (?=(?:${commands.join("|")})(?![\\w-]))`, "g");
  return (text) => text.replace(pattern, `${name} `);
}
