import type { Command } from "../command/command.ts";
import { onlyLab, onlyLabFlags } from "../parts/only-lab.ts";
import { bytes, table } from "../show/table.ts";

export const captures: Command = {
  name: "captures",
  summary: "List packet captures on the host",
  details: "Lists the captures of every lab that you may see, or of one lab with --lab or -t.",
  flags: onlyLabFlags("Only captures"),
  example: "labwright captures --lab /campus",
  run: async (context, args) => {
    const client = await context.client();
    const lab = await onlyLab(context, args, client);
    const data = await client.listCaptures(lab === undefined ? {} : { lab });
    context.result(data, ({ captures: all }) =>
      all.length === 0
        ? "no captures"
        : table(
            ["ID", "LAB", "INTERFACE", "STATUS", "PACKETS", "DROPPED", "SIZE", "STARTED", "FILTER", "REASON"],
            all.map((one) => [
              one.capture,
              one.lab,
              `${one.node}:${one.interface}`,
              one.status,
              String(one.packets ?? ""),
              one.dropped === undefined || one.dropped === 0 ? "" : String(one.dropped),
              bytes(one.size_bytes ?? 0),
              one.started_at,
              one.filter ?? "",
              one.reason ?? "",
            ]),
          ),
    );
    return 0;
  },
};
