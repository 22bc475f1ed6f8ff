import { leaseText } from "../../base/time/lease-text.ts";
import type { ResultOf } from "../../client/index.ts";
import type { Command } from "../command/command.ts";
import { noteAge } from "../command/context.ts";
import { waitingText } from "../show/show-status.ts";
import { table } from "../show/table.ts";

type Lab = ResultOf<"listLabs">["labs"][number];

function machineText({ machine = "", unreachable_since: since }: Lab): string {
  return since === undefined ? machine : `${machine} (no answer since ${since})`;
}

export const labs: Command = {
  name: "labs",
  aliases: ["ls"],
  summary: "List your labs on the service",
  flags: [],
  example: "labwright labs",
  run: async (context) => {
    const client = await context.client();
    context.result(await client.listLabs(), (data) => {
      const hasMachines = data.labs.some((lab) => lab.machine !== undefined);
      const hasLeases = data.labs.some((lab) => lab.lease !== undefined);
      return data.labs.length === 0
        ? "no labs yet"
        : [
            table(
              ["LAB", "MODE", "OWNER", "ON HOST", "NODES", ...(hasMachines ? ["MACHINE"] : []), ...(hasLeases ? ["LEASE"] : []), "UPDATED"],
              data.labs.map((lab) => [
                lab.lab,
                lab.mode,
                lab.owner ?? "",
                lab.exists ? "yes" : "no",
                // The service has no definition of a lab that it does not manage, and a list reads no labs.
                lab.nodes === undefined ? "-" : String(lab.nodes),
                ...(hasMachines ? [machineText(lab)] : []),
                ...(hasLeases ? [lab.lease === undefined ? "" : leaseText(lab.lease, Date.now())] : []),
                lab.updated_at ?? "",
              ]),
            ),
            ...data.labs.flatMap(({ lab, resume }) => waitingText(lab, resume)),
          ].join("\n");
    });
    await noteAge(context);
    return 0;
  },
};
