import { shellWord } from "../../base/shell-word.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { withHint } from "../command/with-hint.ts";

export const adopt: Command = {
  name: "adopt",
  summary: "Assign an owner to a lab without a record in the service; for admins",
  details:
    "A lab has no record if the service's database was lost, or if the lab was created without the service. Only admins see such a lab until one of them\n" +
    "adopts or destroys it. Running nodes are not changed. The service records the lab as it is on the host: labwright pull writes that to a file.",
  operands: "LAB",
  maxOperands: 1,
  flags: [{ long: "owner", value: "USER", summary: "The new owner of the lab; default: you" }],
  example: "labwright adopt /campus --owner alice",
  run: async (context, args) => {
    const [lab] = args.operands;
    if (lab === undefined) throw new UsageError("adopt needs the path of a lab", "labwright labs lists the labs without an owner");
    const owner = args.text("owner");
    const client = await context.client();
    const data = await client
      .adoptLab({ lab, ...(owner !== undefined && { owner }) })
      .catch(
        withHint("lab_exists", `the lab has an owner: labwright grants --lab ${shellWord(lab)} shows and changes who else has access`),
      );
    context.result(data, ({ lab: path, owner: now, nodes }) => `${path} belongs to ${now}: ${nodes} node${nodes === 1 ? "" : "s"}`);
    return 0;
  },
};
