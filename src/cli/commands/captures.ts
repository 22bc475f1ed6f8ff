import { type Command, labFlag } from "../command.ts";
import { bytes, table } from "../table.ts";

export const captures: Command = {
  name: "captures",
  summary: "List packet captures on the host",
  details: "Of every lab that you may see, unless one is named.",
  flags: [{ ...labFlag, summary: "Only of this lab" }],
  example: "labwright captures --lab /campus",
  run: async (context, args) => {
    const lab = args.text("lab");
    const client = await context.client();
    const data = await client.listCaptures(lab === undefined ? {} : { lab });
    context.result(data, ({ captures: all }) =>
      all.length === 0
        ? "no captures"
        : table(
            ["ID", "LAB", "INTERFACE", "STATUS", "PACKETS", "DROPPED", "SIZE", "STARTED", "FILTER", "WHY"],
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
