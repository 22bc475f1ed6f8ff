import { parallel } from "../../../base/parallel.ts";
import { Failure } from "../../../contract/errors.ts";
import type { Operation } from "../../../engine/model/plan.ts";
import type { Progress } from "../../host.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { DefinitionEdit } from "../definitions/edit-definition.ts";
import { applyLive } from "../nodes/live-config.ts";
import { savedConfigs, takeOverConfig } from "../nodes/saved-config.ts";
import type { ApplyContext } from "./context.ts";

/** Running nodes that get a changed configuration at the same time. */
const parallelConfigs = 4;

/** Gives running nodes the lines of their startup-configs that change. A node that does not take them gets a warning, and the text at its next start. */
export async function applyLiveConfigs(
  { catalogue, definitions, lab, readiness }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  progress: Progress,
): Promise<void> {
  const changed = batch.flatMap(({ step, key }) => {
    if (step.do !== "update-node" || !step.fields.includes("startupConfig")) return [];
    const template = catalogue.template(step.node.template);
    const id = edit.nodeId(step.node.key);
    if (template?.configLanguage === undefined || template.savedConfig === undefined || id === undefined) return [];
    return [{ key, id, path: template.savedConfig, node: step.node }];
  });
  if (changed.length === 0) return;
  const live = lab(before.id);
  const life = await live.life(before, catalogue);
  const { sandbox } = live;
  if (sandbox === null) return;
  const saved = savedConfigs(definitions.directory(before.id), before, catalogue.template);
  const old = new Map(before.nodes.map((node) => [node.id, saved.get(node.id) ?? node.startupConfig ?? ""]));
  const taken = new Map(before.nodes.map((node) => [node.id, node.startupConfig ?? ""]));
  const running = changed.filter(({ id }) => life.get(id)?.power === "running");
  await parallel(running, parallelConfigs, async ({ key, id, path, node }) => {
    const daemons = node.attributes["daemons"] ?? "auto";
    const texts = { before: old.get(id) ?? "", after: node.startupConfig ?? "", taken: taken.get(id) ?? "" };
    const config = { ...texts, path, startsDaemons: daemons === "auto" };
    const problem = await applyLive(sandbox, id, config).catch((error: unknown) => {
      if (error instanceof Failure) return error.message;
      throw error;
    });
    readiness(before.id).forget(id);
    if (problem === undefined) return;
    const message = `node ${key} runs without its whole new startup-config: ${problem}. At its next start it boots with the new one, without lines that FRR does not know`;
    progress.warn?.({ code: "config_not_live", node: key, message });
  });
}

/** Makes nodes boot with the configuration that these steps set, even if it is the old one and the node has saved another since. */
export function takeOverConfigs(
  { catalogue, definitions }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
): void {
  const old = new Map(before.nodes.map((node) => [node.id, node.startupConfig ?? ""]));
  const set = new Set(
    batch.flatMap(({ step }) =>
      step.do === "update-node" && step.fields.includes("startupConfig") ? (edit.nodeId(step.node.key) ?? []) : [],
    ),
  );
  for (const node of edit.result().nodes) {
    const path = catalogue.template(node.template)?.savedConfig;
    const was = old.get(node.id);
    if (path === undefined || was === undefined || (was === (node.startupConfig ?? "") && !set.has(node.id))) continue;
    takeOverConfig(definitions.directory(before.id), node, path);
  }
}
