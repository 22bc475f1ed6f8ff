import { LabwrightError } from "../../client/index.ts";
import type { Diagnostic } from "../../intent/diagnostic.ts";
import { readIntent } from "../../intent/read.ts";
import { showDiagnostics } from "../../intent/show.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, topoFlag } from "../command.ts";
import { diagnose, type ProjectFile } from "../project.ts";

export const validate: Command = {
  name: "validate",
  summary: "Check a lab's file; without a service unless --online",
  details:
    "Every problem is shown at once, with its line. --online asks the service too: it knows the host's templates, images and pcap, and what the host\n" +
    "cannot do.",
  flags: [topoFlag, { long: "online", summary: "Also check against the host's templates" }],
  example: "labwright validate -t campus.lw.yml",
  run: async (context, args) => {
    const { file, selector } = await context.projectFile();
    let found = diagnose(file);
    if (args.has("online") && !found.some(isError)) {
      const client = await context.client();
      found = await client.validateProject(selector).then(({ warnings = [] }) => warnings, refused);
    }
    const valid = !found.some(isError);
    const { terminal } = context;
    if (context.json) terminal.print(JSON.stringify({ status: valid ? "valid" : "invalid", diagnostics: found }, null, 2));
    else if (found.length > 0) terminal.print(showDiagnostics(found, file));
    const errors = found.filter(isError).length;
    const warnings = found.length - errors;
    if (valid)
      terminal.note(`${file.name} is valid${warnings === 0 ? "" : `, with ${counted(warnings, "warning")}`}${unchecked(file, args)}`);
    else terminal.stderr.write(`${terminal.paint("red", "error:")} ${file.name} has ${counted(errors, "error")} (invalid_intent)\n`);
    return valid ? 0 : 1;
  },
};

/** Every problem of an intent that the service refuses. Other failures are thrown on. */
function refused(error: unknown): readonly Diagnostic[] {
  const diagnostics = error instanceof LabwrightError && error.code === "invalid_intent" ? error.data?.diagnostics : undefined;
  if (!Array.isArray(diagnostics)) throw error;
  return diagnostics as readonly Diagnostic[];
}

/** Filters are pcap's language, which only a host has. */
function unchecked(file: ProjectFile, args: Arguments): string {
  const filters = args.has("online") ? 0 : (readIntent(file.yaml, file.files).lab?.trafficFilters.length ?? 0);
  return filters === 0
    ? ""
    : `; whether pcap takes the match of ${counted(filters, "traffic filter")} is known to a service only: --online`;
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
