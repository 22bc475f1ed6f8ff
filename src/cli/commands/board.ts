import { setTimeout as pause } from "node:timers/promises";
import { parallel } from "../../base/parallel.ts";
import { leaseText } from "../../base/time/lease-text.ts";
import { type LabwrightClient, LabwrightError, type ResultOf } from "../../client/index.ts";
import { type ClassLab, labOf, labsOfClass, outcomeOf } from "../classroom/class-labs.ts";
import { showOutcomes } from "../classroom/show-outcomes.ts";
import { approve } from "../command/ask.ts";
import { type Command, type ExitCode, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

/** Number of labs that are read or changed at the same time. */
const width = 4;
/** Interval of --watch, ms. */
const interval = 5_000;
const actions = ["test", "reset", "broadcast"] as const;

export const board: Command = {
  name: "board",
  summary: "Show the labs of a class: their state, their tests, their last use; test and reset them, or send a message",
  operands: "CLASS [test|reset STUDENT|broadcast TEXT]",
  details:
    "test runs the tests of all labs, reset recreates the lab of a student from its text, with new disks, and broadcast shows a text on the consoles of all running\n" +
    "Linux and FRR nodes. To look at a student's console without typing: labwright console NODE --lab /CLASS/STUDENT --read-only.",
  flags: [{ long: "watch", short: "w", summary: "Show the board again every 5 seconds, until Ctrl-C" }, yesFlag],
  example: "labwright board bgp reset ann",
  run: async (context, args) => {
    const [name, action, ...rest] = args.operands;
    if (name === undefined) throw new UsageError("board needs the name of a class: labwright board CLASS");
    const client = await context.client();
    if (action === undefined) return await showBoard(context, client, name, args.has("watch"));
    const labs = await labsOfClass(client, name);
    if (action === "test") return await testAll(context, client, labs);
    if (action === "broadcast") return await broadcast(context, client, labs, rest.join(" "));
    if (action !== "reset") throw new UsageError(`board takes ${actions.join(", ")}, not "${action}"`);
    const [student] = rest;
    if (student === undefined || rest.length > 1)
      throw new UsageError("board reset needs one student: labwright board CLASS reset STUDENT");
    const lab = labOf(labs, student);
    const question = `Delete the lab ${lab.lab} with its disks and recreate it?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    return showOutcomes(context, [await outcomeOf(student, lab.lab, () => reset(client, lab))]);
  },
};

/** Recreates a lab from its own text. Its grants stay. */
async function reset(client: LabwrightClient, { lab }: ClassLab): Promise<string> {
  const { yaml, files } = await client.getPublicProject({ lab, as_written: true });
  await client.deployProject({ lab, replace: true, ...(yaml !== undefined && { yaml }), ...(files !== undefined && { files }) });
  return "recreated";
}

interface Row extends Pick<ClassLab, "student" | "lab" | "used_at" | "lease" | "tests"> {
  readonly state: string;
}

async function showBoard(context: Context, client: LabwrightClient, name: string, isWatched: boolean): Promise<ExitCode> {
  for (;;) {
    const labs = await labsOfClass(client, name);
    const rows = await parallel(labs, width, async (lab): Promise<Row> => {
      const { student, used_at, lease, tests } = lab;
      const known = {
        ...(used_at !== undefined && { used_at }),
        ...(lease !== undefined && { lease }),
        ...(tests !== undefined && { tests }),
      };
      return { student, lab: lab.lab, state: await stateOf(client, lab.lab), ...known };
    });
    context.result({ labs: rows }, () =>
      table(
        ["STUDENT", "STATE", "TESTS", "LAST USED", "LEASE"],
        rows.map(({ student, state, tests, used_at, lease }) => [
          student,
          state,
          tests === undefined ? "-" : testsText(tests),
          used_at ?? "-",
          lease === undefined ? "-" : leaseText(lease, Date.now()),
        ]),
      ),
    );
    if (!isWatched) return 0;
    await pause(interval);
  }
}

function testsText({ passed, failed, errors }: NonNullable<ClassLab["tests"]>): string {
  return `${passed} of ${passed + failed + errors}`;
}

/** A lab that cannot be read must not hide the others. */
async function stateOf(client: LabwrightClient, lab: string): Promise<string> {
  try {
    return textOf(await client.getProjectStatus({ lab }));
  } catch (error) {
    if (error instanceof LabwrightError) return error.code ?? "unknown";
    throw error;
  }
}

function textOf({ exists, operation, live }: ResultOf<"getProjectStatus">): string {
  if (operation !== undefined) return "changes";
  if (!exists) return "not on the host";
  if (live?.nodes === undefined) return "unknown";
  const running = live.nodes.filter(({ status }) => status === "running").length;
  const failed = live.nodes.filter(({ status }) => status === "failed").length;
  return `${running} of ${live.nodes.length} running${failed > 0 ? `, ${failed} failed` : ""}`;
}

async function testAll(context: Context, client: LabwrightClient, labs: readonly ClassLab[]): Promise<ExitCode> {
  const test = ({ student, lab }: ClassLab) =>
    outcomeOf(student, lab, async () => {
      const { passed, failed, errors } = await client.testProject({ lab });
      return `${testsText({ passed, failed, errors, at: "" })} passed`;
    });
  return showOutcomes(context, await parallel(labs, width, test));
}

/** Prints the text that is its argument on the console. The text is data and no program. */
const announce = 'printf "\\r\\n*** %s ***\\r\\n" "$1" > /dev/console';

async function broadcast(context: Context, client: LabwrightClient, labs: readonly ClassLab[], text: string): Promise<ExitCode> {
  if (text.trim() === "" || text.length > 1_000) throw new UsageError("broadcast needs a text of at most 1000 characters");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these move the cursor of the students' terminals
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new UsageError("broadcast takes a text of one line without control characters");
  const send = ({ student, lab }: ClassLab) =>
    outcomeOf(student, lab, async () => {
      const { consoles = [] } = await client.listProjectConsoles({ lab });
      const nodes = consoles.filter(({ status }) => status === "running").flatMap(({ unique_key: key, node }) => key ?? node ?? []);
      if (nodes.length === 0) return "no node runs";
      let reached = 0;
      for await (const event of await client.execNodes({ lab, nodes, argv: ["/bin/sh", "-c", announce, "sh", text], timeout_ms: 10_000 })) {
        if (event.type === "end" && event.exit_code === 0) reached += 1;
      }
      return `shown on ${reached} of ${nodes.length} nodes`;
    });
  return showOutcomes(context, await parallel(labs, width, send));
}
