import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { withHint } from "../command/with-hint.ts";

export const adopt: Command = {
  name: "adopt",
  summary: "Give a lab that the service has no record of an owner; for admins",
  details:
    "A lab loses its record with the service's database, and others never had one. Until an admin adopts it or destroys it, nobody else sees it. Nothing that\n" +
    "runs is changed. The recorded intent is what the host has: labwright pull writes it to a file.",
  operands: "LAB",
  maxOperands: 1,
  flags: [{ long: "owner", value: "USER", summary: "Who the lab belongs to from now on; default: you" }],
  example: "labwright adopt /campus --owner alice",
  run: async (context, args) => {
    const [lab] = args.operands;
    if (lab === undefined) throw new UsageError("adopt needs the path of a lab", "labwright labs lists those without an owner");
    const owner = args.text("owner");
    const client = await context.client();
    const data = await client
      .adoptLab({ lab, ...(owner !== undefined && { owner }) })
      .catch(withHint("lab_exists", `it needs no adoption: labwright grants --lab ${lab} shows and changes with whom its owner shares it`));
    context.result(data, ({ lab: path, owner: now, nodes }) => `${path} belongs to ${now}: ${nodes} node${nodes === 1 ? "" : "s"}`);
    return 0;
  },
};
