import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";

export const lock: Command = {
  name: "lock",
  summary: "Protect a lab from every change until it is unlocked",
  details:
    "A locked lab refuses deploy, apply, destroy, start, stop, wipe and changes of links. A running change stops after its current step. Consoles,\n" +
    "captures and reading commands still work. On EVE-NG the lock is the host's own: its pages show it and hide their buttons.",
  flags: [topoFlag, labFlag],
  example: "labwright lock --lab /courses/bgp-1",
  run: (context, args) => setLock(context, args, true),
};

export const unlock: Command = {
  name: "unlock",
  summary: "Allow changes of a locked lab again",
  flags: [topoFlag, labFlag],
  example: "labwright unlock --lab /courses/bgp-1",
  run: (context, args) => setLock(context, args, false),
};

async function setLock(context: Context, args: Arguments, locked: boolean): Promise<0> {
  const { selector } = await context.project(args);
  const client = await context.client();
  const data = await client.setLabLock({ ...selector, locked });
  context.result(data, ({ lab }) => `${lab}: ${data.locked ? "locked" : "unlocked"}`);
  return 0;
}
