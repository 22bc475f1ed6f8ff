import type { LabwrightClient } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Flag, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";

/** Of commands that look at all labs, where none is named. @param what "Only changes" */
export function onlyLabFlags(what: string): readonly Flag[] {
  return [
    { ...topoFlag, summary: `${what} of the lab of this file` },
    { ...labFlag, summary: `${what} of this lab` },
  ];
}

/** The path of the lab that --lab or --topo names; undefined: neither is given. */
export async function onlyLab(context: Context, args: Arguments, client: LabwrightClient): Promise<string | undefined> {
  const path = args.text("lab");
  // As everywhere, the first slash may be left out.
  if (path !== undefined) return path.startsWith("/") ? path : `/${path}`;
  if (!args.has("topo")) return undefined;
  const { selector } = await context.project();
  return (await client.getProjectStatus(selector)).lab;
}
