import { linksOf } from "../../../formats/unl/links.ts";
import type { LabNode } from "../../../intent/lab/lab.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlNode } from "../lab-file/unl.ts";
import { endsOf } from "../lab-file/unl-links.ts";
import { writeAttributes } from "../read/node-attributes.ts";
import { usesConfig } from "../read/observe.ts";
import { hostCount } from "../templates/interface-shape.ts";
import type { EveTemplate } from "../templates/template.ts";
import { cut } from "./edit-link.ts";
import { type LabDraft, templateOf } from "./lab-draft.ts";

/** Creates the node, or sets all fields of the existing node. Throws host_error. */
export function putNode(draft: LabDraft, wanted: LabNode): void {
  const template = templateOf(draft, wanted);
  const existing = draft.findNode(wanted.key, wanted.name);
  if (existing === undefined) {
    const id = draft.freshNode();
    const place = wanted.position ?? draft.freePlace(draft.lab.nodes.length);
    const made: UnlNode = {
      id,
      name: wanted.name,
      type: template.type,
      template: template.id,
      ...(template.type === "qemu" && { uuid: draft.newUuid() }),
      // Without a number the host gives the node no interface.
      ...(template.shape.countable && { ethernet: hostCount(template.shape.count, template.shape) }),
      left: place.x,
      top: place.y,
      interfaces: [],
    };
    draft.lab = { ...draft.lab, nodes: [...draft.lab.nodes, made] };
    draft.ids.nodes.set(wanted.key, String(id));
    setFields(draft, made, wanted, template, allFields);
    return;
  }
  if (existing.template !== wanted.template) throw hostFailure(`node ${wanted.key}: its template cannot change`);
  draft.ids.nodes.set(wanted.key, String(existing.id));
  setFields(draft, existing, wanted, template, allFields);
}

function setFields(draft: LabDraft, node: UnlNode, wanted: LabNode, template: EveTemplate, fields: ReadonlySet<string>): void {
  const has = (field: string) => fields.has(field);
  if (has("name") && !/^[A-Za-z0-9_-]+$/.test(wanted.name)) {
    throw hostFailure(
      `node ${wanted.key}: EVE-NG takes no name ${JSON.stringify(wanted.name)}; letters, digits, underscores and hyphens make one`,
    );
  }
  if (has("image") && template.images !== undefined && !template.images.includes(wanted.image ?? "")) {
    throw hostFailure(`node ${wanted.key}: template ${template.id} has no image ${wanted.image}`);
  }
  const { shape } = template;
  const count = shape.countable ? wanted.ethernet : shape.count;
  const ethernet = count === undefined ? undefined : hostCount(count, shape);
  const base: UnlNode = {
    ...node,
    ...(has("name") && { name: wanted.name }),
    ...(has("icon") && wanted.icon !== undefined && { icon: wanted.icon }),
    ...(has("image") && { image: template.images === undefined ? "" : (wanted.image ?? "") }),
    ...(has("cpu") && template.cpu !== undefined && wanted.cpu !== undefined && { cpu: wanted.cpu }),
    ...(has("ram") && template.ram !== undefined && wanted.ram !== undefined && { ram: wanted.ram }),
    ...(has("ethernet") && ethernet !== undefined && template.type !== "dynamips" && { ethernet }),
    ...(has("position") && wanted.position !== undefined && { left: wanted.position.x, top: wanted.position.y }),
    ...(has("startupConfig") && { config: (wanted.startupConfig ?? "") === "" ? "0" : usesConfig(node) ? (node.config ?? "1") : "1" }),
  };
  if (has("startupConfig")) {
    const text = wanted.startupConfig ?? "";
    if (text !== "" && !template.startupConfig) throw hostFailure(`node ${wanted.key}: template ${template.id} takes no startup config`);
    const old = draft.lab.configs.find(({ id }) => id === node.id);
    // Keeps a config that the node does not use: the user may have exported it.
    if (text !== "" || (old !== undefined && usesConfig(node))) {
      const others = draft.lab.configs.filter(({ id }) => id !== node.id);
      const { encoding: _encoding, ...rest } = old ?? { id: node.id, text: "" };
      const kept = old?.text === text ? old : { ...rest, text };
      draft.lab = { ...draft.lab, configs: text === "" ? others : [...others, kept].sort((a, b) => a.id - b.id) };
    }
  }
  const made = has("attributes") ? writeAttributes(base, wanted.attributes, template) : base;
  if (has("ethernet") || has("attributes")) refuseLostEnds(draft, node, made, wanted.key);
  draft.replaceNode(made);
}

/** Throws host_error if a link uses an interface that the node no longer has. If groups or modules change, another interface may get its number. */
function refuseLostEnds(draft: LabDraft, before: UnlNode, after: UnlNode, key: string): void {
  const [now, then] = [draft.lists.of(before), draft.lists.of(after)];
  for (const end of linksOf(draft.lab).flatMap(endsOf)) {
    if (end.node !== before.id) continue;
    const one = now.find(({ id }) => id === end.interface);
    if (one === undefined || then.some(({ id, name }) => id === one.id && name === one.name)) continue;
    throw hostFailure(`node ${key}: its interface ${one.name} still has a link`);
  }
}

export function deleteNode(draft: LabDraft, key: string): void {
  const node = draft.goingNode(key);
  if (node !== undefined) {
    for (const end of node.interfaces) cut(draft, { node: node.id, interface: end.id });
    draft.lab = {
      ...draft.lab,
      nodes: draft.lab.nodes.filter(({ id }) => id !== node.id),
      configs: draft.lab.configs.filter(({ id }) => id !== node.id),
    };
  }
  draft.ids.nodes.delete(key);
}

/** Sets some fields of the existing node. Throws host_error, node_not_found. */
export function updateNode(draft: LabDraft, wanted: LabNode, fields: readonly string[]): void {
  const node = draft.nodeOf(wanted.key);
  if (node.template !== wanted.template) throw hostFailure(`node ${wanted.key}: its template cannot change`);
  setFields(draft, node, wanted, templateOf(draft, wanted), new Set(fields));
}

const allFields: ReadonlySet<string> = new Set([
  "name",
  "icon",
  "image",
  "cpu",
  "ram",
  "ethernet",
  "position",
  "startupConfig",
  "attributes",
]);
