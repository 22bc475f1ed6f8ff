import type { Arguments } from "./arguments.ts";
import { askYes } from "./ask.ts";
import type { Flag } from "./command.ts";
import type { Context } from "./context.ts";
import type { Project } from "./project.ts";
import { UsageError } from "./usage-error.ts";

export const takeOverFlag: Flag = {
  long: "take-over",
  summary: "Change a lab whose last change came from another file; --yes alone does not",
};

/** What a service returns of a lab: where its last change came from. */
interface Known {
  readonly lab?: string | undefined;
  readonly exists?: boolean | undefined;
  readonly origin?: string | undefined;
}

/** Where the lab's last change came from, if that is known and is not this project's file. */
export function otherOrigin({ exists, origin }: Known, project: Pick<Project, "origin">): string | undefined {
  return exists !== false && origin !== undefined && project.origin !== undefined && origin !== project.origin ? origin : undefined;
}

/**
 * Whether this file may change the lab: it made the last change, --take-over is given, or a person agrees. Two files may have the same name in
 * them by mistake. Throws UsageError without a terminal.
 */
export async function mayTakeOver({ terminal }: Context, args: Arguments, known: Known, project: Project): Promise<boolean> {
  const other = otherOrigin(known, project);
  if (other === undefined || args.has("take-over")) return true;
  const { lab = project.title } = known;
  const fact = `the last change of ${lab} came from ${other}, not from ${project.origin}`;
  if (!terminal.interactive)
    throw new UsageError(
      `nothing was changed: ${fact}`,
      "--take-over applies this file to that lab; for a lab of its own, give the file another name, or --lab /ANOTHER/PATH",
    );
  terminal.note(`${fact[0]?.toUpperCase()}${fact.slice(1)}.`);
  return await askYes(terminal, `Change ${lab} to what this file has, from now on`);
}
