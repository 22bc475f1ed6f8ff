import { readDuration } from "../../base/time/duration.ts";
import { leaseText } from "../../base/time/lease-text.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

const actions = ["extend", "list"] as const;

export const lease: Command = {
  name: "lease",
  summary: "Show when labs stop by themselves, or let a lab stop later",
  operands: "extend [LAB] TIME|list",
  maxOperands: 3,
  choices: actions,
  details:
    "A lab with lease: 8h stops 8 hours after its deploy; with lease: {idle: 2h} it stops when nobody has used it for 2 hours. extend moves the end: TIME is\n" +
    "such as 30m, 2h or 1d12h. It needs the right to operate the lab. A start of its nodes begins a lease again that has ended.",
  flags: [topoFlag, labFlag],
  example: "labwright lease extend /campus 2h",
  run: async (context, args) => {
    const [action = "list", ...operands] = args.operands;
    if (action === "list") {
      if (operands.length > 0) throw new UsageError(`"${operands[0]}" is one argument too many`);
      const { labs } = await (await context.client()).listLabs();
      const leased = labs.flatMap((lab) => (lab.lease === undefined ? [] : [{ ...lab, lease: lab.lease }]));
      context.result({ labs: leased }, () =>
        leased.length === 0
          ? "no lab has a lease"
          : table(
              ["LAB", "OWNER", "LEASE", "LAST USED"],
              leased.map((lab) => [lab.lab, lab.owner ?? "", leaseText(lab.lease, Date.now()), lab.used_at ?? ""]),
            ),
      );
      return 0;
    }
    if (action !== "extend") throw new UsageError(`lease takes extend or list, not "${action}"`);
    const [first, second] = operands;
    if (first === undefined) throw new UsageError("lease extend needs a time: labwright lease extend 2h");
    const text = second ?? first;
    const seconds = readDuration(text);
    if (seconds === undefined || seconds <= 0) throw new UsageError(`lease extend takes a time such as 30m, 2h or 1d12h, not "${text}"`);
    const selector = second === undefined ? (await context.project()).selector : { lab: first };
    const data = await (await context.client()).extendLease({ ...selector, extend_ms: seconds * 1_000 });
    context.result(data, ({ lab, lease: shown }) => `${lab} ${leaseText(shown, Date.now())}`);
    return 0;
  },
};
