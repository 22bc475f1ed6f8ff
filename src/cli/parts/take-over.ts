import type { LabwrightClient } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { askYes } from "../command/ask.ts";
import type { Flag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";

export const takeOverFlag: Flag = {
  long: "take-over",
  summary:
    "Change a lab whose last change came from another file, or that was made on its host; from then on the lab belongs to this file. --yes alone does not allow that",
};

/** The flag of commands that remove a lab. */
export const removeOtherFlag: Flag = {
  ...takeOverFlag,
  summary: "Remove a lab whose last change came from another file, or that was made on its host; --yes alone does not allow that",
};

/** The field of a service's answer with the file of the lab's last change. */
interface Known {
  readonly lab?: string | undefined;
  readonly exists?: boolean | undefined;
  readonly origin?: string | undefined;
}

/** Returns the origin of the lab's last change. `undefined` if it is unknown or is this project's file. */
export function otherOrigin({ exists, origin }: Known, project: Pick<Project, "origin">): string | undefined {
  return exists !== false && origin !== undefined && project.origin !== undefined && origin !== project.origin ? origin : undefined;
}

/** Formats an origin: "/labs/campus.yaml on machine vm". Other clients use formats of their own, which are shown unchanged. */
export function originText(origin: string): string {
  const [, machine, path] = /^([^:/\s]+):(\/.*)$/s.exec(origin) ?? [];
  return machine === undefined || path === undefined ? origin : `${path} on machine ${machine}`;
}

/**
 * Returns whether this file may change or remove the lab: it made the last change, --take-over is given, or the user confirms. The check protects a lab
 * that was drawn on its host, and two files that contain the same lab name by mistake. Throws UsageError without a terminal.
 */
export async function mayTakeOver(
  context: Context,
  args: Arguments,
  known: Known,
  project: Project,
  { removes = false }: { readonly removes?: boolean } = {},
): Promise<boolean> {
  if (args.has("take-over")) return true;
  const fact = await factAgainst(context, known, project);
  if (fact === undefined) return true;
  const { terminal } = context;
  const { lab = project.title } = known;
  const own = "for a lab of its own, change `name:` in the file";
  if (!terminal.interactive)
    throw new UsageError(
      `nothing was changed: ${fact}`,
      removes
        ? `--take-over removes that lab anyway; ${own}`
        : `--take-over applies this file to that lab; ${own}, or add --lab /ANOTHER/PATH`,
    );
  terminal.note(`${fact[0]?.toUpperCase()}${fact.slice(1)}.`);
  return await askYes(terminal, removes ? `Remove ${lab} anyway` : `Use this file for ${lab} from now on`);
}

/** Returns the reason why the lab may not belong to this file; `undefined` if there is none. */
async function factAgainst(context: Context, known: Known, project: Project): Promise<string | undefined> {
  const { lab = project.title } = known;
  const other = otherOrigin(known, project);
  if (other !== undefined && project.origin !== undefined)
    return `the last change of ${lab} came from ${originText(other)}, not from ${originText(project.origin)}`;
  if (known.exists === false || known.origin !== undefined || project.origin === undefined) return undefined;
  return (await isUnmanaged(await context.client(), project)) ? unmanagedFact(lab) : undefined;
}

/** The service does not manage such a lab: nobody deployed it by the service, or the service has lost its state. */
export function unmanagedFact(lab: string): string {
  return `${lab} is on the host, but this service has no record of it: it was made on the host, or the service's state was lost`;
}

/** Whether the project's lab is on the host without a record in the service. */
async function isUnmanaged(client: LabwrightClient, { selector }: Pick<Project, "selector">): Promise<boolean> {
  const { exists, right } = await client.getProjectStatus(selector);
  return exists && right === undefined;
}

/** mayTakeOver for a command that removes the project's lab. Returns true for a lab that the service does not have: the command reports that. */
export async function mayRemove(context: Context, args: Arguments): Promise<boolean> {
  const project = await context.project();
  const client = await context.client();
  return await mayTakeOver(context, args, await client.getProjectStatus(project.selector), project, { removes: true });
}
