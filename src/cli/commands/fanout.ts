import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { parallel } from "../../base/parallel.ts";
import { LabwrightError } from "../../client/error.ts";
import type { LabwrightClient } from "../../client/index.ts";
import { readIntent } from "../../intent/read/read.ts";
import { classPath, labsOfClass, type Outcome, outcomeOf } from "../classroom/class-labs.ts";
import { labSegment, readRoster, type Student } from "../classroom/roster.ts";
import { showOutcomes } from "../classroom/show-outcomes.ts";
import { variablesFile, variablesOf } from "../classroom/student-variables.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, type ExitCode, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { type ProjectFile, readProjectFile } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { Progress } from "../show/progress.ts";

const rights = ["view", "operate", "edit"] as const;
const defaultParallel = 4;
const maxRosterBytes = 8 * 2 ** 20;

export const fanout: Command = {
  name: "fanout",
  summary: "Make a lab for each student of a roster, or end the labs of a class",
  operands: "FILE|end CLASS",
  maxOperands: 2,
  details:
    "The roster is CSV with a header. Its column user has the account of each student, which must exist; all columns are variables of the student's lab, if the lab\n" +
    `has vars-files: [${variablesFile}]. The labs are /CLASS/USER. They belong to you, and are shared with their student. Labs that exist are not changed: the same\n` +
    "command again makes those that are missing. Exit code 1: some labs failed; they are listed. fanout end destroys all labs of the class with their disks.",
  flags: [
    { long: "students", value: "FILE", completes: "file", summary: "The roster" },
    { long: "class", value: "NAME", summary: "Name of the class, and folder of its labs; default: the lab's name" },
    {
      long: "right",
      value: "RIGHT",
      choices: rights,
      summary: "The right of each student on the lab: view, operate or edit; default: operate",
    },
    { long: "parallel", value: "N", summary: `Number of labs that are made or destroyed at the same time; default: ${defaultParallel}` },
    yesFlag,
  ],
  example: "labwright fanout lab.yaml --students roster.csv",
  run: async (context, args) => {
    const [first, second] = args.operands;
    if (first === "end") return await end(context, args, second);
    if (first === undefined) throw new UsageError("fanout needs the lab's file: labwright fanout lab.yaml --students roster.csv");
    if (second !== undefined) throw new UsageError(`"${second}" is one argument too many`);
    return await make(context, args, first);
  },
};

/** A student's lab, ready to be deployed. */
interface Wanted extends Student {
  readonly lab: string;
  readonly file: ProjectFile;
}

async function make(context: Context, args: Arguments, name: string): Promise<ExitCode> {
  const roster = args.text("students");
  if (roster === undefined) throw new UsageError("fanout needs a roster: --students roster.csv");
  const students = await studentsOf(roster);
  const wanted = await labsOf(name, students, args.text("class"));
  const right = rights.find((one) => one === args.text("right")) ?? "operate";
  const client = await context.client();
  await refuseUnknown(client, students);
  const { username } = await client.getSession();
  if (students.some(({ user }) => user === username)) throw new UsageError(`${username} is in the roster: the labs belong to you already`);
  const there = new Map((await client.listLabs()).labs.map((lab) => [lab.lab, lab.owner]));
  const make = ({ user, lab, file }: Wanted) =>
    outcomeOf(user, lab, async () => {
      const exists = there.get(lab) === username;
      if (!exists) await client.deployProject({ lab, yaml: file.yaml, files: file.files, origin: `${hostname()}:${file.path}` });
      await share(client, lab, user, right);
      return exists ? "exists already" : "deployed";
    });
  return showOutcomes(context, await inWaves(context, args, "labs are deployed", wanted, make));
}

/** Shares a lab with its student, and keeps the rights of others. */
async function share(client: LabwrightClient, lab: string, user: string, right: (typeof rights)[number]): Promise<void> {
  const { grants } = await client.getLabGrants({ lab });
  if (grants.some((grant) => grant.user === user && grant.right === right)) return;
  await client.setLabGrants({ lab, grants: [...grants.filter((grant) => grant.user !== user), { user, right }] });
}

async function end(context: Context, args: Arguments, name: string | undefined): Promise<ExitCode> {
  if (name === undefined) throw new UsageError("fanout end needs the name of the class: labwright fanout end CLASS");
  const client = await context.client();
  const labs = await labsOfClass(client, name);
  const question = `Destroy ${labs.length} labs below ${classPath(name)} with their disks?`;
  if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
  const destroy = ({ student, lab }: (typeof labs)[number]) =>
    outcomeOf(student, lab, async () => {
      await client.destroyProject({ lab });
      return "destroyed";
    });
  return showOutcomes(context, await inWaves(context, args, "labs are destroyed", labs, destroy));
}

/** Works on a few labs at a time, and shows how many are done. */
async function inWaves<Item>(
  context: Context,
  args: Arguments,
  what: string,
  items: readonly Item[],
  work: (item: Item) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const text = args.text("parallel") ?? String(defaultParallel);
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError(`--parallel takes a number from 1 to 99, not "${text}"`);
  let done = 0;
  using progress = new Progress(context.terminal, what, { quiet: context.quiet });
  return await parallel(items, Number(text), async (item) => {
    const outcome = await work(item);
    done += 1;
    progress.update(`${what}: ${done} of ${items.length}`);
    return outcome;
  });
}

async function studentsOf(name: string): Promise<readonly Student[]> {
  let bytes: Buffer;
  try {
    bytes = await readFile(name);
  } catch (error) {
    throw fileFailure(error, name);
  }
  if (bytes.length > maxRosterBytes) throw new UsageError(`${name} is larger than 8 MiB, the maximum of a roster`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${name} is not UTF-8 text`, "save it as CSV UTF-8");
  }
  const roster = readRoster(text);
  if ("students" in roster) return roster.students;
  throw new UsageError(`${name}: ${roster.problems.join("\n  ")}`);
}

/** Reads the lab of each student with the student's variables, and throws UsageError for the first that is not a valid lab. */
async function labsOf(name: string, students: readonly Student[], className: string | undefined): Promise<readonly Wanted[]> {
  const wanted: Wanted[] = [];
  let folder: string | undefined = className === undefined ? undefined : classPath(className);
  for (const [index, student] of students.entries()) {
    const file = await readProjectFile(name, { given: { [variablesFile]: variablesOf(student, index + 1) } });
    const { lab, diagnostics } = readIntent(file.yaml, file.files);
    const [problem] = diagnostics.filter(({ severity }) => severity === "error");
    if (lab === undefined) {
      const at = `${problem?.file ?? name}:${problem?.line ?? 1}`;
      throw new UsageError(`the lab of ${student.user} is not valid: ${at}: ${problem?.message}`, "nothing was deployed");
    }
    if (index === 0 && Object.keys(student.columns).length > 1 && !Object.hasOwn(file.files, variablesFile)) {
      throw new UsageError(
        `${name} does not use the columns of the roster`,
        `write vars-files: [${variablesFile}] in it, or leave only the column user`,
      );
    }
    folder ??= classPath(lab.name);
    wanted.push({ ...student, file, lab: `${folder}/${labSegment(student.user)}` });
  }
  return wanted;
}

/** Only admins can list accounts: for others the failed share of a lab names the account. */
async function refuseUnknown(client: LabwrightClient, students: readonly Student[]): Promise<void> {
  const known = await client.listHostUsers().catch((error: unknown) => {
    if (error instanceof LabwrightError && (error.code === "operation_not_allowed" || error.code === "unsupported")) return undefined;
    throw error;
  });
  if (known === undefined) return;
  const users = new Set(known.users.map(({ user }) => user));
  const missing = students.filter(({ user }) => !users.has(user)).map(({ user }) => user);
  if (missing.length === 0) return;
  const shown = `${missing.slice(0, 10).join(", ")}${missing.length > 10 ? ` and ${missing.length - 10} more` : ""}`;
  throw new UsageError(
    `these students have no account: ${shown}`,
    "add them on the machine of the service: labwright users add NAME --role user",
  );
}
