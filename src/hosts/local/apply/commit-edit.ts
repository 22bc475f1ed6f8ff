import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { DefinitionEdit } from "../definitions/edit-definition.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { hasOtherFiles, writeNodeFiles } from "../lab/write-node-files.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { ApplyContext } from "./context.ts";
import { removeDisks } from "./power.ts";
import { put } from "./put-definition.ts";
import { running } from "./step-nodes.ts";

/** Stops removed nodes before the definition is written, and removes their disks after: a crash in between leaves no node that the definition lacks running. */
export async function commitEdit(
  { definitions, trash, catalogue, lab }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
): Promise<void> {
  const after = edit.result();
  const live = lab(before.id);
  const kept = new Set(after.nodes.map((node) => node.id));
  const gone = before.nodes.filter((node) => !kept.has(node.id)).map((node) => node.id);
  if (gone.length > 0)
    await live.stop(
      before.nodes.filter(({ id }) => !kept.has(id)),
      1,
      catalogue,
    );
  // First: addresses that are in use, or a port that another program has, change nothing.
  if (changesManagement(before, after)) await live.settleManagement(after, catalogue);
  await publishPorts(live, catalogue, before, after);
  // Written first: if a node refuses a file, the definition still has the old one, and the next plan shows the change again.
  await changeFiles(live, catalogue, before, after);
  if (!isSame(before, after)) await put(definitions, after);
  await live.reconcileFabric(after, catalogue, { of: "edit", before });
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const limited = after.nodes.filter(({ id, cpu, ram }) => cpu !== old.get(id)?.cpu || ram !== old.get(id)?.ram);
  if (limited.length > 0) await live.limit(after, new Set(limited.map(({ id }) => id)), catalogue);
  await removeDisks(trash, live, gone);
}

/** An edit keeps the objects of unchanged nodes and links, of which there may be thousands. */
function isSame(before: LabDefinition, after: LabDefinition): boolean {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof LabDefinition)[];
  return keys.every((key) => {
    const [a, b] = [before[key], after[key]] as readonly unknown[];
    return Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((item, at) => isEqual(item, b[at])) : isEqual(a, b);
  });
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function changesManagement(before: LabDefinition, after: LabDefinition): boolean {
  if (!isEqual(before.management, after.management) || before.nodes.length !== after.nodes.length) return true;
  return before.nodes.some(({ id, mgmtIpv4, mgmtIpv6 }, at) => {
    const node = after.nodes[at]!;
    return id !== node.id || mgmtIpv4 !== node.mgmtIpv4 || mgmtIpv6 !== node.mgmtIpv6;
  });
}

/** Writes changed files into nodes that run. Other nodes get them when they start. */
async function changeFiles(live: LocalLab, catalogue: Catalogue, before: LabDefinition, after: LabDefinition): Promise<void> {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const changed = after.nodes.filter((node) => {
    const was = old.get(node.id);
    return was !== undefined && hasOtherFiles(was, node);
  });
  if (changed.length === 0) return;
  const up = await running(live, before, catalogue);
  await Promise.all(
    changed.map(async (node) => {
      if (up.has(node.id) && live.sandbox !== null) await writeNodeFiles(live.sandbox, old.get(node.id) as DefinedNode, node);
    }),
  );
}

async function publishPorts(live: LocalLab, catalogue: Catalogue, before: LabDefinition, after: LabDefinition): Promise<void> {
  try {
    await live.publish(after, catalogue, { strict: true });
  } catch (error) {
    // If the nodes cannot be read now, `error` is still what the change failed with.
    await live.publish(before, catalogue, { strict: false }).catch(() => undefined);
    throw error;
  }
}
