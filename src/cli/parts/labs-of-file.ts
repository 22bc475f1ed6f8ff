import { shellWord } from "../../base/shell-word.ts";
import { LabwrightError } from "../../client/index.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { Context } from "../command/context.ts";
import { withHint } from "../command/with-hint.ts";

/** An answer whose text was written to a file. */
interface Written {
  readonly yaml?: string | undefined;
  readonly files?: Readonly<Record<string, string>> | undefined;
  readonly lab?: string | undefined;
}

/** Notes that commands with this file alone use another lab: the lab of its name, not the lab that the file was written from. */
export function noteLabFlag({ terminal }: Context, file: string, { yaml = "", files = {}, lab }: Written): void {
  const { name } = readIntent(yaml, files).lab ?? {};
  if (lab === undefined || name === undefined || lab === `/${name}`) return;
  terminal.note(`use -t ${shellWord(file)} with --lab ${shellWord(lab)}: without it, the file means the lab /${name}`);
}

/** Notes the other labs that were deployed from the file with --lab: a user may have meant one of them. */
export async function noteOtherLabs(context: Context, lab: string): Promise<void> {
  const { selector } = await context.project();
  if (selector.lab !== undefined || context.json) return;
  const [first, ...more] = (await pathsOfFile(context)).filter((path) => path !== lab);
  if (first === undefined) return;
  context.terminal.note(
    `this file was also deployed as ${[first, ...more].join(" and ")}: without --lab, commands mean ${lab}; add --lab ${shellWord(first)} for that lab`,
  );
}

/** Returns the paths of the labs whose last change came from the file. */
async function pathsOfFile(context: Context): Promise<readonly string[]> {
  const { origin } = await context.project();
  if (origin === undefined) return [];
  const { labs } = await (await context.client()).listLabs();
  return labs.flatMap((one) => (one.exists && one.origin === origin ? [one.lab] : []));
}

/** Returns which --lab to add if the file was deployed to other paths than the one of its name. `undefined`: it was not, or the service does not report it. */
export async function labFlagHint(context: Context): Promise<string | undefined> {
  const { selector } = await context.project();
  if (selector.lab !== undefined) return undefined;
  const paths = await pathsOfFile(context);
  const [first] = paths;
  return first === undefined ? undefined : `this file was deployed as ${paths.join(" and ")}: add --lab ${shellWord(first)}`;
}

/** Returns the error of a command. If its file has no lab of the file's name but was deployed with --lab, the error contains a hint. */
export async function withLabFlagHint(context: Context | undefined, error: unknown): Promise<unknown> {
  if (context?.file === undefined || !(error instanceof LabwrightError)) return error;
  if (error.code !== "lab_not_found" || error.data?.hint !== undefined) return error;
  try {
    const hint = await labFlagHint(context);
    if (hint !== undefined) withHint("lab_not_found", hint)(error);
  } catch (hinted) {
    // If the labs cannot be listed, the first error is the one to report.
    return hinted instanceof LabwrightError && hinted.code === "lab_not_found" ? hinted : error;
  }
  return error;
}
