import type { Arguments } from "../command/arguments.ts";
import { askYes } from "../command/ask.ts";
import type { Flag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";

export const takeOverFlag: Flag = {
  long: "take-over",
  summary: "Change a lab whose last change came from another file, which is then this one; --yes alone does not",
};

/** Of commands that remove a lab. */
export const removeOtherFlag: Flag = {
  ...takeOverFlag,
  summary: "Remove a lab whose last change came from another file; --yes alone does not",
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

/** An origin for people: "/labs/campus.yaml on machine vm". Other clients write origins in words of their own, which are shown as they are. */
export function originText(origin: string): string {
  const [, machine, path] = /^([^:/\s]+):(\/.*)$/s.exec(origin) ?? [];
  return machine === undefined || path === undefined ? origin : `${path} on machine ${machine}`;
}

/**
 * Whether this file may change or remove the lab: it made the last change, --take-over is given, or a person agrees. Two files may have the same name in
 * them by mistake. Throws UsageError without a terminal.
 */
export async function mayTakeOver(
  { terminal }: Context,
  args: Arguments,
  known: Known,
  project: Project,
  { removes = false }: { readonly removes?: boolean } = {},
): Promise<boolean> {
  const other = otherOrigin(known, project);
  if (other === undefined || project.origin === undefined || args.has("take-over")) return true;
  const { lab = project.title } = known;
  const fact = `the last change of ${lab} came from ${originText(other)}, not from ${originText(project.origin)}`;
  const own = "for a lab of its own, change `name:` in the file";
  if (!terminal.interactive)
    throw new UsageError(
      `nothing was changed: ${fact}`,
      removes
        ? `if that lab is to be removed, --take-over does it; ${own}`
        : `--take-over applies this file to that lab; ${own}, or add --lab /ANOTHER/PATH`,
    );
  terminal.note(`${fact[0]?.toUpperCase()}${fact.slice(1)}.`);
  return await askYes(terminal, removes ? `Remove ${lab} all the same` : `Change ${lab} to what this file has, from now on`);
}

/** As mayTakeOver, for a command that removes the project's lab; a lab that the service does not have is left to that command. */
export async function mayRemove(context: Context, args: Arguments): Promise<boolean> {
  const project = await context.project();
  const client = await context.client();
  return await mayTakeOver(context, args, await client.getProjectStatus(project.selector), project, { removes: true });
}
