import type { ResultOf } from "../../client/index.ts";
import { approve } from "../command/ask.ts";
import { type Command, yesFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { bytes, table } from "../show/table.ts";

type Kept = ResultOf<"listDisks">["disks"][number];

export const disks: Command = {
  name: "disks",
  summary: "List or remove disks that destroy --no-wipe has kept",
  details:
    "Kept disks belong to the owner of their lab. The owner gets them back by deploying a lab at the same path with nodes of the same names.\n" +
    "Admins see and remove the disks of all users.",
  flags: [{ long: "remove", value: "ID", multiple: true, summary: "Remove these disks; repeatable, or a comma list" }, yesFlag],
  example: "labwright disks",
  run: async (context, args) => {
    const wanted = args.list("remove");
    const client = await context.client();
    const data = await client.listDisks();
    if (wanted.length === 0) {
      context.result(data, ({ disks: all }) => (all.length === 0 ? "no disks are kept" : tableOf(all)));
      return 0;
    }
    const chosen = wanted.map((id) => {
      const found = data.disks.find((kept) => kept.disks === id);
      if (found === undefined) throw new UsageError(`there are no kept disks ${id}`, "labwright disks lists them");
      return found;
    });
    const question = `Remove the disks of ${chosen.map(({ lab, owner }) => `${lab} (${owner})`).join(", ")} permanently?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    for (const { disks: id } of chosen) await client.removeDisks({ id });
    context.result({ disks: chosen.map(({ disks: id }) => id) }, ({ disks: gone }) => `removed ${gone.join(", ")}`);
    return 0;
  },
};

function tableOf(all: readonly Kept[]): string {
  const rows = all.map(({ disks: id, lab, owner, nodes, size_bytes: size, kept_at: at }) => [
    id,
    lab,
    owner,
    nodes.map(({ node }) => node).join(", "),
    bytes(size),
    at,
  ]);
  return table(["DISKS", "LAB", "OWNER", "NODES", "SIZE", "KEPT"], rows);
}
