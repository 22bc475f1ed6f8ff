import { showDiagnostics } from "../../intent/show.ts";
import { type Command, topoFlag } from "../command.ts";
import { diagnose } from "../project.ts";

export const validate: Command = {
  name: "validate",
  summary: "Check a lab's file; without a service unless --online",
  details: "Every problem is shown at once, with its line. --online asks the service too: it knows the host's templates and images.",
  flags: [topoFlag, { long: "online", summary: "Also check against the host's templates" }],
  example: "labwright validate -t campus.lw.yml",
  run: async (context, args) => {
    const { file, selector } = await context.projectFile();
    let found = diagnose(file);
    const valid = !found.some(({ severity }) => severity === "error");
    if (valid && args.has("online")) {
      const client = await context.client();
      found = (await client.validateProject(selector)).warnings ?? [];
    }
    const { terminal } = context;
    if (context.json) terminal.print(JSON.stringify({ status: valid ? "valid" : "invalid", diagnostics: found }, null, 2));
    else if (found.length > 0) terminal.print(showDiagnostics(found, file));
    const errors = found.filter(({ severity }) => severity === "error").length;
    const warnings = found.length - errors;
    if (valid) terminal.note(`${file.name} is valid${warnings === 0 ? "" : `, with ${counted(warnings, "warning")}`}`);
    else terminal.stderr.write(`${terminal.paint("red", "error:")} ${file.name} has ${counted(errors, "error")} (invalid_intent)\n`);
    return valid ? 0 : 1;
  },
};

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
