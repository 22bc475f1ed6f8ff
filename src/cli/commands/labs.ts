import type { Command } from "../command/command.ts";
import { waitingText } from "../show/show-status.ts";
import { table } from "../show/table.ts";

export const labs: Command = {
  name: "labs",
  summary: "List your labs on the service",
  flags: [],
  example: "labwright labs",
  run: async (context) => {
    const client = await context.client();
    context.result(await client.listLabs(), (data) =>
      data.labs.length === 0
        ? "no labs yet"
        : [
            table(
              ["LAB", "MODE", "OWNER", "ON HOST", "NODES", "UPDATED"],
              data.labs.map((lab) => [
                lab.lab,
                lab.mode,
                lab.owner ?? "",
                lab.exists ? "yes" : "no",
                // The service has no definition of a lab that it does not manage, and a list reads no labs.
                lab.nodes === undefined ? "-" : String(lab.nodes),
                lab.updated_at ?? "",
              ]),
            ),
            ...data.labs.flatMap(({ lab, resume }) => waitingText(lab, resume)),
          ].join("\n"),
    );
    return 0;
  },
};
