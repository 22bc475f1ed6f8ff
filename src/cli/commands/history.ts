import type { ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, type ExitCode, labFlag, topoFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { changesOf } from "../project-files/project-changes.ts";
import { replaceFile } from "../project-files/replace-file.ts";
import { unifiedDiff } from "../show/diff.ts";
import { changeName } from "../show/show-job.ts";
import { table } from "../show/table.ts";
import { paintChanges } from "../show/terminal.ts";

const words = ["list", "show", "restore"] as const;
type Word = (typeof words)[number];
type Entry = ResultOf<"listHistory">["entries"][number];

export const history: Command = {
  name: "history",
  summary: "List the earlier states of a lab, show the text of one, or write it to the lab's file",
  operands: "[list|show SERIAL|restore SERIAL]",
  maxOperands: 2,
  choices: words,
  details:
    "Each apply and each saved edit adds a state: the lab's text with its files, who changed it, when, and the steps. The service keeps the newest 50 states\n" +
    "of a lab. restore shows the difference, asks, and writes the lab's file. It does not change the host: labwright plan then shows the way back, and\n" +
    "labwright apply takes it. show prints the text without secrets to users who may not edit the lab.",
  flags: [topoFlag, labFlag, yesFlag],
  example: "labwright history restore 12 -t campus.lw.yml",
  run: async (context, args) => {
    const [word = "list", serial] = args.operands;
    switch (wordOf(word)) {
      case "list":
        return list(context);
      case "show":
        return show(context, serialOf(serial, word));
      case "restore":
        return restore(context, args, serialOf(serial, word));
    }
  },
};

async function list(context: Context): Promise<ExitCode> {
  const { selector } = await context.project();
  const data = await (await context.client()).listHistory(selector);
  context.result(data, ({ entries }) =>
    entries.length === 0
      ? "no history: the lab has not been changed since this service records its states"
      : table(
          ["SERIAL", "RECORDED", "USER", "CHANGE", "STEPS", "NODES", "LINKS"],
          entries.map((entry) => [
            `${entry.serial}${entry.is_current ? " (now)" : ""}`,
            entry.at,
            entry.user ?? "-",
            changeOf(entry),
            entry.job === undefined ? "-" : String(entry.step_count ?? "…"),
            String(entry.nodes),
            String(entry.links),
          ]),
        ),
  );
  return 0;
}

async function show(context: Context, serial: number): Promise<ExitCode> {
  const { selector } = await context.project();
  const client = await context.client();
  const { right } = await client.getProjectStatus(selector);
  const mayEdit = right === undefined || right === "edit" || right === "own";
  const data = await client.getHistoryText({ ...selector, serial, ...(mayEdit && { as_written: true }) });
  context.result(data, ({ yaml, files }) =>
    [yaml.replace(/\n$/, ""), ...Object.entries(files).map(([name, text]) => `\n# file ${name}\n${text.replace(/\n$/, "")}`)].join("\n"),
  );
  return 0;
}

async function restore(context: Context, args: Arguments, serial: number): Promise<ExitCode> {
  const { file, selector } = await context.projectFile();
  const { terminal } = context;
  const data = await (await context.client()).getHistoryText({ ...selector, serial, as_written: true });
  const writes = changesOf(file, data);
  const print = context.json ? terminal.note : terminal.print;
  for (const { name, before, after } of writes) print(paintChanges(terminal.paint, unifiedDiff(before ?? "", after, name)));
  const names = writes.map(({ name }) => name).join(", ");
  if (writes.length > 0 && !(await approve(terminal, `Write ${names}?`, args.has("yes")))) return 1;
  for (const { path, before, after } of writes) await replaceFile(path, before, after);
  context.result({ ...data, written: writes.map(({ name }) => name) }, ({ written }) =>
    written.length === 0
      ? `${file.name} has this state already`
      : `wrote ${names}; labwright plan shows what changes on the host, labwright apply does it`,
  );
  return 0;
}

/** Returns what recorded the state, with its outcome unless it is the usual one. */
function changeOf({ operation, outcome }: Entry): string {
  const name = operation === undefined ? "-" : operation === "adoptLab" ? "adopt" : changeName(operation);
  return outcome === undefined || outcome === "finished" ? name : `${name}, ${outcome}`;
}

function wordOf(word: string): Word {
  const known = words.find((one) => one === word);
  if (known === undefined) throw new UsageError(`history has no action "${word}"`, `the actions are ${words.join(", ")}`);
  return known;
}

function serialOf(text: string | undefined, word: string): number {
  if (text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  const what = text === undefined ? "" : `, not "${text}"`;
  throw new UsageError(`history ${word} takes the serial of a state${what}`, "labwright history lists them");
}
