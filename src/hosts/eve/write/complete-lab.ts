import { randomUUID } from "node:crypto";
import type { Position } from "../../../intent/lab/lab.ts";
import type { UnlInterface, UnlLab, UnlNode } from "../lab-file/unl.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { EveTemplate } from "../templates/template.ts";
import { freePlace, shownPlaces } from "./lab-draft.ts";

/** Templates whose nodes get a MAC address from EVE-NG. If the file has none, EVE-NG fails to compute it and refuses the whole lab. */
const withFirstMac = new Set(["bigip", "firepower", "firepower6", "linux"]);

/**
 * Returns the lab with all values that EVE-NG needs to read an imported file, and all values that it would otherwise choose at each read. Existing
 * values stay unchanged. A node without a number of interfaces stays so: it has no interfaces. @param pod the user's pod number on the host, part of
 * MAC addresses
 */
export function completeLab(lab: UnlLab, catalogue: EveCatalogue, pod: number): UnlLab {
  const places = [...shownPlaces(lab)];
  const placeOf = (index: number): Position => {
    const place = freePlace(places, index);
    places.push(place);
    return place;
  };
  let lastText = Math.max(0, ...lab.textObjects.map(({ id = 0 }) => id));
  return {
    ...lab,
    nodes: lab.nodes.map((node, index) => completeNode(node, () => placeOf(index), catalogue.template(node.template ?? ""), pod)),
    textObjects: lab.textObjects.map((text) => (text.id === undefined ? { ...text, id: ++lastText } : text)),
  };
}

function completeNode(node: UnlNode, free: () => Position, template: EveTemplate | undefined, pod: number): UnlNode {
  const type = node.type ?? template?.type;
  const place = node.left === undefined || node.top === undefined ? free() : undefined;
  const slots = node.slots?.filter(({ id, module }) => id !== undefined && module !== undefined);
  return {
    ...node,
    ...(type !== undefined && { type }),
    config: node.config ?? "0",
    ...(place !== undefined && { left: node.left ?? place.x, top: node.top ?? place.y }),
    ...(type === "qemu" && { uuid: node.uuid ?? randomUUID() }),
    ...(type === "qemu" && needsFirstMac(node, template) && { firstmac: firstMac(pod, node.id) }),
    ...(slots !== undefined && { slots }),
    interfaces: node.interfaces.map(completeInterface),
  };
}

function needsFirstMac({ template: id, firstmac }: UnlNode, template: EveTemplate | undefined): boolean {
  if (firstmac !== undefined && firstmac !== "") return false;
  return withFirstMac.has(id ?? "") || (template?.attributes.some(({ name }) => name === "firstmac") ?? false);
}

/** Returns the address that the host would give to a new node. */
function firstMac(pod: number, id: number): string {
  const hex = (value: number) => Math.trunc(value).toString(16).padStart(2, "0");
  return `00:50:${hex(pod)}:${hex(id / 512)}:${hex(id % 512)}:00`;
}

function completeInterface(one: UnlInterface): UnlInterface {
  return one.type === undefined ? { ...one, type: one.remote_id === undefined ? "ethernet" : "serial" } : one;
}
