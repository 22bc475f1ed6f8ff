import { shellWord } from "../../base/shell-word.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { withHint } from "../command/with-hint.ts";
import { table } from "../show/table.ts";

const actions = ["list", "restore", "delete"] as const;

const unknownId = withHint("lab_not_found", "labwright quarantine list shows the labs in quarantine with their IDs");

export const quarantine: Command = {
  name: "quarantine",
  summary: "List, restore or delete labs whose definition on the host was lost",
  operands: "list|restore|delete [ID]",
  maxOperands: 2,
  choices: actions,
  details:
    "For admins. Labwright removes nothing of such a lab, and its nodes keep running, until you decide: restore brings the lab back with its last good\n" +
    "definition; delete ends its nodes and removes their disks.",
  flags: [],
  example: "labwright quarantine list",
  run: async (context, { operands: [action = "list", id] }) => {
    if (!actions.some((one) => one === action)) throw new UsageError(`quarantine takes list, restore or delete, not "${action}"`);
    if (action === "list" && id !== undefined) throw new UsageError(`quarantine list takes no ID, not "${id}"`);
    if (action !== "list" && id === undefined)
      throw new UsageError(`quarantine ${action} takes the ID of a lab`, "labwright quarantine list shows it");
    const client = await context.client();
    if (id === undefined) {
      context.result(await client.listQuarantine(), ({ labs }) =>
        labs.length === 0
          ? "no lab is in quarantine"
          : table(
              ["ID", "LAB", "OWNER", "RUNNING", "RESTORABLE", "REASON"],
              labs.map((one) => [
                one.id,
                one.lab ?? "",
                one.owner ?? "",
                one.running ? "yes" : "no",
                one.restorable ? "yes" : "no",
                one.reason,
              ]),
            ),
      );
    } else if (action === "restore") {
      context.result(
        await client.restoreQuarantined({ id }).catch(unknownId),
        ({ lab }) => `${lab} is restored: labwright status --lab ${shellWord(lab)} shows it`,
      );
    } else {
      context.result(await client.deleteQuarantined({ id }).catch(unknownId), () => `lab ${id} is deleted`);
    }
    return 0;
  },
};
