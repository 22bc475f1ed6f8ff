import { shellWord } from "../../base/shell-word.ts";
import type { ResultOf } from "../../client/index.ts";
import { type Command, timeoutFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { noteLabFlag } from "../parts/labs-of-file.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { mustBeNew, writeProject } from "../project-files/write-project.ts";

interface ReportLine {
  readonly path: string;
  readonly level: "kept" | "mapped" | "dropped";
  readonly message: string;
}

export const importCommand: Command = {
  name: "import",
  summary: "Copy a lab of the host to a lab of your own; the source is not changed",
  operands: "LAB",
  maxOperands: 1,
  details:
    "The copy is stopped. plan, apply and destroy work on it. The report lists which fields of the source were kept, mapped or dropped. With -t the\n" +
    "copy is also written as a new lab file.",
  flags: [
    { long: "as", value: "PATH", summary: "Path of the copy; default: the path of the source with -import" },
    { long: "replace", summary: "Delete and recreate an earlier copy at that path" },
    { ...topoFlag, summary: "Write the copy to this lab file, which must not exist yet" },
    timeoutFlag,
  ],
  example: "labwright import /teacher/bgp --as /mine/bgp -t bgp.lw.yml",
  run: async (context, args) => {
    const [lab] = args.operands;
    if (lab === undefined) throw new UsageError("import needs the path of a lab", "labwright labs lists them");
    const [as, file] = [args.text("as"), args.text("topo")];
    if (file !== undefined) await mustBeNew(file);
    const data = await runChange(
      context,
      "importProject",
      {
        lab,
        ...(as === undefined ? {} : { manifest: `version: 1\nmode: import\nlab: ${JSON.stringify(as)}\n` }),
        ...(args.has("replace") ? { replace: true } : {}),
      },
      { what: `import ${lab}`, timeoutMs: args.milliseconds("timeout") },
    );
    const written =
      file === undefined ? [] : await writeProject(file, data).catch((error: unknown) => copiedOnly(error, file, data.managed_lab));
    if (context.json) context.terminal.print(JSON.stringify({ ...data, written }, null, 2));
    else context.terminal.print(show(data, written));
    if (file !== undefined) noteLabFlag(context, file, data);
    return 0;
  },
};

/** The copy exists, so that the command cannot be repeated. */
function copiedOnly(error: unknown, file: string, lab: string | undefined): never {
  const failure = fileFailure(error);
  if (!(failure instanceof UsageError) || lab === undefined) throw failure;
  throw new UsageError(
    `${failure.message}; the copy ${lab} is on the host`,
    `when the cause is removed, labwright pull --lab ${shellWord(lab)} -t ${shellWord(file)} writes the file`,
  );
}

function show(data: ResultOf<"importProject">, written: readonly string[]): string {
  const report = (data.source as { readonly report?: readonly ReportLine[] } | undefined)?.report ?? [];
  const count = (level: ReportLine["level"]) => report.filter((line) => line.level === level).length;
  return [
    `${data.source_lab} was cloned to ${data.managed_lab}, stopped`,
    `${count("kept")} kept, ${count("mapped")} mapped, ${count("dropped")} dropped`,
    ...report.filter(({ level }) => level !== "kept").map(({ level, path, message }) => `  ${level} ${path}: ${message}`),
    ...(written.length === 0 ? [] : [`wrote ${written.join(", ")}`]),
  ].join("\n");
}
