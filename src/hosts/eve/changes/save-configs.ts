import { Failure } from "../../../contract/errors.ts";
import { type EveAnswer, hostError, recordOf, textOf } from "../api/answer.ts";
import { isOutcomePending } from "../api/pending-outcome.ts";
import { numberClash, readPower } from "../labs/clashes.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type LabHead, labNotFound, mustReadHead, withHead } from "../read/lab-read.ts";
import { usesConfig } from "../read/observe.ts";
import { takesStartupConfig } from "../templates/startup-configs.ts";
import { writeLab } from "../write/write-lab.ts";

/** The host logs in to a router and types commands, which takes minutes for a slow router, ms. */
const exportMs = 300_000;

/**
 * Makes the host store each node's configuration as its startup config, and reads the config back. One node after the other, because each export
 * writes the lab's file.
 */
export async function saveConfigs(
  place: EvePlace,
  at: EveLabPath,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | Failure>> {
  const { world, account } = place;
  const head = await mustReadHead(account, at);
  if (head.lock !== 0) throw new Failure("lab_locked", `lab ${at.path} is locked on the host: labwright unlock ends that`);
  const power = await readPower(place, at, signal);
  const nodes = new Map(power.nodes.map((node) => [String(node.id), node]));
  const saved = new Map<string, string | Failure>();
  try {
    for (const id of ids) {
      signal.throwIfAborted();
      const node = nodes.get(id);
      const clash = power.clashes.get(Number(id));
      if (node === undefined) saved.set(id, new Failure("node_not_found", `${at.path} has no node ${id}`));
      // The export would log in to the other lab's node.
      else if (clash !== undefined) saved.set(id, numberClash(`the configuration of ${node.name} was not saved`, clash));
      else {
        const [template, type] = [textOf(node.data.template) ?? "", textOf(node.data.type) ?? ""];
        saved.set(id, await saveNode(place, at, { id, name: node.name, template, type }, signal));
      }
    }
  } finally {
    world.reader.forget(at.path);
  }
  await useConfigs(place, at, head, new Set([...saved].flatMap(([id, text]) => (typeof text === "string" && text !== "" ? [id] : []))));
  return saved;
}

/** An export stores only the text: the node boots with it only if its config is also marked as used. */
async function useConfigs(place: EvePlace, at: EveLabPath, head: LabHead, ids: ReadonlySet<string>): Promise<void> {
  if (ids.size === 0) return;
  const before = withHead(await place.world.reader.file(place.account, at), head);
  const nodes = before.nodes.map((node) => (ids.has(String(node.id)) && !usesConfig(node) ? { ...node, config: "1" } : node));
  await writeLab(place, at, before, { ...before, nodes });
}

interface Saving {
  readonly id: string;
  readonly name: string;
  readonly template: string;
  readonly type: string;
}

/** The host found no configuration of the node, or its script failed. */
const notExported = 16;

/** Returns the next step after the host could not export a configuration. */
function exportHint({ name, type }: Saving): string {
  const again = "then repeat labwright save";
  if (type === "vpcs")
    return `${name} has no stored configuration: set an address on its console (ip ADDRESS/PREFIX), run save there, ${again}`;
  if (type === "qemu") return `the host's script could not read it: wait until ${name} has booted, close its console, ${again}`;
  return `${name} has no stored configuration: run write memory on its console, ${again}`;
}

async function saveNode({ account }: EvePlace, at: EveLabPath, node: Saving, signal: AbortSignal): Promise<string | Failure> {
  const { id, name, template, type } = node;
  const cannot = new Failure("unsupported", `EVE-NG has no script that reads the configuration of ${template}`, {
    data: { feature: "saveConfigs" },
  });
  if (!takesStartupConfig(template, type)) return cannot;
  const path = `/api/labs${at.url}`;
  const doing = `export the configuration of node ${name}`;
  try {
    const exported: EveAnswer = await account.call({
      method: "PUT",
      path: `${path}/nodes/${id}/export`,
      body: {},
      timeoutMs: exportMs,
      signal,
      read: false,
    });
    if (exported.code === 60000) throw labNotFound(at.path);
    if (exported.code === 19) return cannot;
    if (exported.code === notExported) {
      const { code, message, data } = hostError(doing, exported);
      return new Failure(code, `${message.replace(/\.$/, "")}; ${exportHint(node)}`, { ...(data && { data }) });
    }
    if (exported.code !== 80058) return hostError(doing, exported);
  } catch (error) {
    if (!isOutcomePending(error)) throw error;
    // It is not known whether the host stored it, and the old config must not be returned as the new one.
    return error;
  }
  const read = await account.call({ path: `${path}/configs/${id}`, read: true, signal });
  const text = textOf(recordOf(read.data).data);
  return read.code === 60057 && text !== undefined ? text : hostError(`read the configuration of node ${name}`, read);
}
