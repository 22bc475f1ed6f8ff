import { LabwrightError } from "../../client/index.ts";
import { byPlace, type Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { templateWarnings } from "../../intent/places/known-templates.ts";
import { readIntent } from "../../intent/read/read.ts";
import { type Command, fileOperand, topoFlag } from "../command/command.ts";
import { diagnose } from "../command/project.ts";
import { builtinTemplates } from "../project-files/builtin-templates.ts";

export const validate: Command = {
  name: "validate",
  summary: "Check a lab's file, offline or with --online",
  ...fileOperand,
  details:
    "Shows all problems with their lines. Without --online, templates, attributes and interfaces are compared with Labwright's own templates; differences\n" +
    "are warnings, because a host may have other templates. --online asks the service: it finds everything that deploy would refuse, and warns of fields\n" +
    "that the host does not support.",
  flags: [topoFlag, { long: "online", summary: "Also check against the host's templates" }],
  readsText: true,
  example: "labwright validate -t campus.lw.yml",
  run: async (context, args) => {
    const { file, selector } = await context.projectFile();
    let found = diagnose(file);
    const { lab } = readIntent(file.yaml, file.files);
    if (!args.has("online") && lab !== undefined) {
      found = [...found, ...templateWarnings(lab, file, await builtinTemplates())].sort(byPlace);
    } else if (!found.some(isError)) {
      const client = await context.client();
      found = await client.validateProject(selector).then(({ warnings = [] }) => warnings, refused);
    }
    const valid = !found.some(isError);
    const { terminal } = context;
    if (context.json) terminal.print(JSON.stringify({ status: valid ? "valid" : "invalid", diagnostics: found }, null, 2));
    else if (found.length > 0) terminal.print(terminal.spell(showDiagnostics(found, file)));
    const errors = found.filter(isError).length;
    const warnings = found.length - errors;
    if (valid)
      terminal.note(
        `${file.name} is valid${warnings === 0 ? "" : `, with ${counted(warnings, "warning")}`}${args.has("online") ? "" : uncheckedParts(lab)}`,
      );
    else terminal.complain(`${terminal.paint("red", "error:")} ${file.name} has ${counted(errors, "error")} (invalid_intent)`);
    return valid ? 0 : 1;
  },
};

/** Returns the problems of an intent that the service refuses. Throws other failures. */
function refused(error: unknown): readonly Diagnostic[] {
  const diagnostics = error instanceof LabwrightError && error.code === "invalid_intent" ? error.data?.diagnostics : undefined;
  if (!Array.isArray(diagnostics)) throw error;
  return diagnostics as readonly Diagnostic[];
}

/** Names the checks that need a service: images are on a host, and only a host can compile pcap filters. */
function uncheckedParts(lab: Lab | undefined): string {
  const filters = lab?.trafficFilters.length ?? 0;
  const match = filters === 0 ? "" : `, the pcap expressions of ${counted(filters, "traffic filter")}`;
  return `; only a service can check images${match} and unsupported fields: --online`;
}

function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
