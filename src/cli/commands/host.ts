import type { ResultOf } from "../../client/index.ts";
import type { Command } from "../command/command.ts";
import { bytes, table } from "../show/table.ts";

type Load = ResultOf<"getHostLoad">;

export const host: Command = {
  name: "host",
  summary: "Show the load of the emulation host: processor, memory, disk and running nodes",
  details: "The measurement takes about a second. The numbers include the nodes of all users.",
  flags: [{ long: "users", summary: "List the host's users instead; for admins" }],
  example: "labwright host",
  run: async (context, args) => {
    const client = await context.client();
    if (args.has("users")) {
      context.result(await client.listHostUsers(), ({ users }) =>
        table(
          ["USER", "ROLE", "POD", "OPEN LAB", "NAME", "EMAIL"],
          users.map(({ user, role, pod, lab, name, email }) => [user, role, String(pod ?? ""), lab ?? "", name ?? "", email ?? ""]),
        ),
      );
      return 0;
    }
    context.result(await client.getHostLoad(), show);
    return 0;
  },
};

function show(load: Load): string {
  const { host: url, version, cpus, memory_bytes: memory, swap_percent: swap } = load;
  const of = (percent: number, all?: string) => `${percent} %${all === undefined ? "" : ` of ${all}`}`;
  const rows = [
    ["HOST", version === undefined ? url : `${url} (${version})`],
    ["CPU", of(load.cpu_percent, cpus === undefined ? undefined : `${cpus} processors`)],
    ["MEMORY", of(load.memory_percent, memory === undefined ? undefined : bytes(memory))],
    ...(swap === undefined ? [] : [["SWAP", of(swap)]]),
    ["DISK", of(load.disk_percent)],
    ["NODES", running(load)],
  ];
  return table(["RESOURCE", "NOW"], rows);
}

function running({ nodes }: Load): string {
  const up = nodes.filter((one) => one.running > 0);
  const all = up.reduce((sum, one) => sum + one.running, 0);
  return all === 0 ? "none running" : `${all} running (${up.map(({ type, running: count }) => `${count} ${type}`).join(", ")})`;
}
