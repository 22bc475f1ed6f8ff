import type { LabwrightClient } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Flag, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";

/** The flags of commands that show all labs unless one is named. @param what such as "Only changes" */
export function onlyLabFlags(what: string): readonly Flag[] {
  return [
    { ...topoFlag, summary: `${what} of the lab of this file` },
    { ...labFlag, summary: `${what} of this lab` },
  ];
}

/** Returns the path of the lab that --lab or --topo names. `undefined` without these flags. */
export async function onlyLab(context: Context, args: Arguments, client: LabwrightClient): Promise<string | undefined> {
  const path = args.text("lab");
  // The leading slash of a path is optional.
  if (path !== undefined) return path.startsWith("/") ? path : `/${path}`;
  if (!args.has("topo")) return undefined;
  const { selector } = await context.project();
  return (await client.getProjectStatus(selector)).lab;
}
