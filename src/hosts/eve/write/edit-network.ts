import { linksOf } from "../../../formats/unl/links.ts";
import type { LabNetwork } from "../../../intent/lab/lab.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { LabDraft } from "./lab-draft.ts";

export function putNetwork(draft: LabDraft, wanted: LabNetwork): void {
  if (!draft.catalogue.rules.networkTypes.includes(wanted.type))
    throw hostFailure(`network ${wanted.key}: the host has no type ${wanted.type}`);
  const existing = draft.findNetwork(wanted.key, wanted.name);
  const place = wanted.position ?? (existing === undefined ? draft.freePlace(draft.lab.networks.length, 60) : undefined);
  const network = {
    ...existing,
    id: existing?.id ?? draft.freshNetwork(),
    type: wanted.type,
    name: wanted.name,
    ...(place !== undefined && { left: place.x, top: place.y }),
    visibility: 1,
  };
  draft.ids.networks.set(wanted.key, String(network.id));
  draft.lab = {
    ...draft.lab,
    networks:
      existing === undefined ? [...draft.lab.networks, network] : draft.lab.networks.map((one) => (one.id === network.id ? network : one)),
  };
}

export function deleteNetwork(draft: LabDraft, key: string): void {
  const going = draft.ids.networks.has(key)
    ? draft.lab.networks.find(({ id }) => String(id) === draft.ids.networks.get(key))
    : draft.findNetwork(key, key);
  if (going !== undefined) {
    if (linksOf(draft.lab).some((link) => link.kind === "attachment" && link.network === going.id))
      throw hostFailure(`network ${key} still has links`);
    draft.lab = { ...draft.lab, networks: draft.lab.networks.filter(({ id }) => id !== going.id) };
  }
  draft.ids.networks.delete(key);
}
