import { Failure } from "../../contract/errors.ts";
import type { ObservedLink } from "../../engine/model/observed.ts";
import { sameValue } from "../../engine/shared/canonical.ts";
import type { Quality } from "../../intent/lab/lab.ts";
import type { LinkQualityState, LinkSides } from "../host.ts";
import { type MemoryLab, putLink } from "./memory-lab.ts";
import { isUp } from "./memory-steps.ts";

/** The effective quality of the link: as changed live, else as declared; nothing while an end of it is down. */
export function effectOf(lab: MemoryLab, link: ObservedLink): LinkSides<Required<Quality>> {
  const stands = link.endpoints.every((end) => {
    if (!("nodeId" in end)) return true;
    const node = lab.nodes.get(end.nodeId);
    return node !== undefined && isUp(node);
  });
  if (!stands) return {};
  const quality = lab.liveQuality.get(link.id) ?? link.quality;
  const [a, b] = [effect(quality?.a), effect(quality?.b)];
  return { ...(a && { a }), ...(b && { b }) };
}

export function setQuality(lab: MemoryLab, id: string, quality: LinkSides<Quality>, save: boolean): LinkQualityState {
  const link = linkOf(lab, id);
  const [a, b] = [plain(quality.a), plain(quality.b)];
  const sides = { ...(a && { a }), ...(b && { b }) };
  if (save) {
    const { quality: _before, ...rest } = link;
    putLink(lab, { ...rest, ...(a || b ? { quality: sides } : {}) });
  }
  const after = linkOf(lab, id);
  if (sameValue(after.quality ?? {}, sides)) lab.liveQuality.delete(id);
  else lab.liveQuality.set(id, sides);
  return { stored: after.quality ?? {}, effective: effectOf(lab, after) };
}

export function setSuspend(lab: MemoryLab, id: string, sides: LinkSides<boolean>): Required<LinkSides<boolean>> {
  const { suspended, ...rest } = linkOf(lab, id);
  const both = { a: suspended?.a ?? false, b: suspended?.b ?? false, ...sides };
  putLink(lab, { ...rest, ...(both.a || both.b ? { suspended: both } : {}) });
  return both;
}

function linkOf(lab: MemoryLab, id: string): ObservedLink {
  const link = lab.links.get(id);
  if (link === undefined) throw new Failure("link_not_found", `lab ${lab.path} has no link with id ${id}`);
  return link;
}

function effect(quality: Quality | undefined): Required<Quality> | undefined {
  const { delay = 0, jitter = 0, loss = 0, bandwidth = 0 } = quality ?? {};
  return delay === 0 && jitter === 0 && loss === 0 && bandwidth === 0 ? undefined : { delay, jitter, loss, bandwidth };
}

/** Without what has no effect. */
function plain(quality: Quality | undefined): Quality | undefined {
  const entries = Object.entries(quality ?? {}).filter(([, value]) => value !== 0);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Quality);
}
