import { Failure } from "../../../contract/errors.ts";
import type { UnlEnd } from "../../../formats/unl/links.ts";
import type { Endpoint, LabLink, Quality } from "../../../intent/lab/lab.ts";
import type { UnlInterface } from "../lab-file/unl.ts";
import type { LabDraft } from "./lab-draft.ts";

/** Writes the link's quality at its ends, if the host supports it. Throws unsupported for values that EVE-NG cannot store. */
export function setLinkQuality(draft: LabDraft, wanted: LabLink, nativeEnd: (end: Endpoint) => UnlEnd): void {
  if (!draft.catalogue.rules.features.linkQuality) return;
  const [a, b] = wanted.endpoints;
  if (wanted.quality !== undefined && "node" in a && "node" in b && a.node === b.node) {
    const why = `link ${wanted.key}: EVE-NG does not report the quality of a link from a node to itself`;
    throw new Failure("unsupported", why, { data: { feature: "linkQuality" } });
  }
  for (const [i, end] of wanted.endpoints.entries()) {
    if (!("node" in end)) {
      if (Object.values((i === 0 ? wanted.quality?.a : wanted.quality?.b) ?? {}).every((value) => value === 0)) continue;
      const why = `link ${wanted.key}: on EVE-NG only the node's side of a link to a network has a quality`;
      throw new Failure("unsupported", why, { data: { feature: "linkQuality" } });
    }
    const at = nativeEnd(end);
    const quality = i === 0 ? wanted.quality?.a : wanted.quality?.b;
    if (Object.values(quality ?? {}).some((value) => !Number.isInteger(value))) {
      throw new Failure("unsupported", `link ${wanted.key}: EVE-NG accepts only whole numbers for link quality`, {
        data: { feature: "linkQuality" },
      });
    }
    const node = draft.nodeById(at.node);
    if (node === undefined) continue;
    draft.replaceNode({ ...node, interfaces: node.interfaces.map((one) => (one.id === at.interface ? withQuality(one, quality) : one)) });
  }
}

/** Returns the interface with this quality of the packets that leave it, and without any other. */
export function withQuality(one: UnlInterface, quality: Quality | undefined): UnlInterface {
  const { source_delay: _d, source_jitter: _j, source_loss: _l, source_bandwidth: _b, ...rest } = one;
  const words = Object.entries(quality ?? {}).flatMap(([word, value]) =>
    value === undefined || value === 0 ? [] : [[`source_${word}`, value] as const],
  );
  return { ...rest, ...Object.fromEntries(words) };
}
