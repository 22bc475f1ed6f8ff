import type { ResultOf } from "../../client/index.ts";
import { type Command, timeoutFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { mustBeNew, writeProject } from "../project-files/write-project.ts";

interface ReportLine {
  readonly path: string;
  readonly level: "kept" | "mapped" | "dropped";
  readonly message: string;
}

export const importCommand: Command = {
  name: "import",
  summary: "Clone a lab of the host into a managed working copy; the source is only read",
  operands: "LAB",
  maxOperands: 1,
  details:
    "The copy is stopped, and managed from then on: plan, apply, destroy work on it. It is told what of the source was kept as it is, what was\n" +
    "mapped to other words, and what was dropped. With -t its intent is written as a new file.",
  flags: [
    { long: "as", value: "PATH", summary: "Path of the copy; default: that of the source with -import" },
    { long: "replace", summary: "Make an earlier copy at that path anew" },
    { ...topoFlag, summary: "Write the copy's intent to this file, which must not be there yet" },
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
    const written = file === undefined ? [] : await writeProject(file, data);
    if (context.json) context.terminal.print(JSON.stringify({ ...data, written }, null, 2));
    else context.terminal.print(show(data, written));
    // The file names the lab by its name, and a lab of that name stands at the top.
    if (file !== undefined && data.managed_lab !== `/${data.name}`)
      context.terminal.note(`with -t ${file} goes --lab "${data.managed_lab}": its name alone means /${data.name}`);
    return 0;
  },
};

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
