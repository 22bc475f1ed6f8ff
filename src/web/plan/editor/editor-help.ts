import { LabwrightError } from "../../../client/browser.ts";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { call } from "../../service/api.ts";
import type { Names, Schema } from "./suggestions.ts";

/** Returns the problems of a text. If it cannot be checked, returns a warning about that. */
export async function problemsOf(yaml: string, files: Readonly<Record<string, string>>): Promise<readonly Diagnostic[]> {
  try {
    return (await call("validateProject", { yaml, files })).warnings ?? [];
  } catch (error) {
    if (error instanceof LabwrightError && error.code === "invalid_intent")
      return (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[];
    const message = error instanceof Error ? error.message : String(error);
    const place = { path: "", line: 1, column: 1, end_line: 1, end_column: 1 };
    return [{ severity: "warning", code: "unchecked", message: `not checked: ${message}`, ...place }];
  }
}

/** Returns a function that reads the schema and the host's templates on its first call, and returns them again on later calls. */
export function namesOnce(): () => Promise<Names> {
  let names: Promise<Names> | undefined;
  const read = async (): Promise<Names> => {
    const [answer, { templates }] = await Promise.all([fetch("/ui/lab.schema.json"), call("listTemplates", { provisioned: "true" })]);
    if (!answer.ok) throw new Error(`the schema of labs cannot be loaded: HTTP status ${answer.status}`);
    return { schema: (await answer.json()) as Schema, templates: (templates ?? []).map(({ id }) => id) };
  };
  return () => {
    names ??= read().catch((error: unknown) => {
      names = undefined;
      throw error;
    });
    return names;
  };
}
