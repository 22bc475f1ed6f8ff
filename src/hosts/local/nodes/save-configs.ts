import { Failure } from "../../../contract/errors.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { mergedConfig, plainText, savedText, shownPath } from "./saved-config.ts";

/** Maximum duration of a program that saves a configuration, ms. */
const patienceMs = 30_000;
/** Maximum output of such a program, bytes. */
const maxOutputBytes = 65_536;
/** Maximum size of a saved configuration that is read in the node, bytes. */
const maxConfigBytes = 1 << 20;

interface LabToSave {
  readonly definition: LabDefinition;
  readonly directory: string;
  readonly catalogue: Catalogue;
  /** `null`: no process of the lab runs. */
  readonly sandbox: Pick<Sandbox, "exec"> | null;
}

/** Runs each node's program that saves its configuration, and reads the saved file. Nodes that save by a console command have saved already. */
export async function saveConfigs(
  lab: LabToSave,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | Failure>> {
  const saved = new Map<string, string | Failure>();
  for (const id of ids) {
    try {
      saved.set(id, await saveConfig(lab, id, signal));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      saved.set(id, error);
    }
  }
  return saved;
}

async function saveConfig({ definition, directory, catalogue, sandbox }: LabToSave, id: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const node = definition.nodes.find((one) => String(one.id) === id);
  if (node === undefined) throw new Failure("node_not_found", `${definition.path} has no node ${id}`);
  const template = catalogue.template(node.template);
  const save = template?.save;
  if (template === undefined || save === undefined || (template.savedConfig === undefined && !("print" in save)))
    throw new Failure("unsupported", `nodes of template ${node.template} save no configuration`, { data: { feature: "saveConfigs" } });
  if (sandbox === null) throw new Failure("node_not_running", "the node does not run; start it first");
  if ("print" in save)
    return printedConfig(await runSave(sandbox, node.id, template, save.print, { signal, maxOutputBytes: maxConfigBytes }));
  if ("argv" in save) await runSave(sandbox, node.id, template, save.argv, { signal, maxOutputBytes });
  const read = async (path: string) =>
    node.kernel === "own" ? await textInside(sandbox, node.id, path, signal) : savedText(directory, node.id, path);
  const text = await read(template.savedConfig!);
  if (text === undefined)
    throw new Failure("host_error", `${template.savedConfig} of the node is missing, over 1 MiB, or not text in UTF-8`);
  return mergedConfig(node, text, await read(shownPath), template.configLanguage);
}

/** The files of a node with a kernel of its own are on a disk that only the node reads. */
async function textInside(sandbox: Pick<Sandbox, "exec">, node: number, path: string, signal: AbortSignal): Promise<string | undefined> {
  const options = { timeoutMs: patienceMs, signal, maxOutputBytes: maxConfigBytes };
  const { code, stdout } = await sandbox.exec(node, ["cat", path], options);
  return code === 0 ? plainText(Buffer.from(stdout)) : undefined;
}

/** A router whose daemons still start would overwrite its saved configuration with an incomplete one. */
async function runSave(
  sandbox: Pick<Sandbox, "exec">,
  node: number,
  { ready }: LocalTemplate,
  argv: readonly string[],
  limits: { readonly signal: AbortSignal; readonly maxOutputBytes: number },
): Promise<string> {
  const options = { timeoutMs: patienceMs, ...limits };
  if (ready !== undefined) {
    const { code, stdout, stderr } = await sandbox.exec(node, ready.argv, options);
    if (code !== 0) throw new Failure("host_error", `the node is not ready, so nothing was saved: ${said(stdout, stderr)}`);
  }
  const { code, stdout, stderr } = await sandbox.exec(node, argv, options);
  if (code !== 0) throw new Failure("host_error", `${argv.join(" ")} ended with ${code}: ${said(stdout, stderr)}`);
  return stdout;
}

/** Returns a configuration that a program of the node has printed. */
function printedConfig(output: string): string {
  const text = plainText(Buffer.from(output.replaceAll("\r\n", "\n")));
  if (text === undefined || text.trim() === "")
    throw new Failure("host_error", "the node printed no configuration, or its output is not text in UTF-8");
  return text.endsWith("\n") ? text : `${text}\n`;
}

function said(stdout: string, stderr: string): string {
  return (stderr.trim() || stdout.trim() || "it printed nothing").slice(0, 500);
}
