import { Failure } from "../../../contract/errors.ts";
import { linksOf, sameEnd, type UnlEnd } from "../../../formats/unl/links.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import type { LinkQualityState, LinkSides, LiveLink } from "../../host.ts";
import { entriesOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { endsOf } from "../lab-file/unl-links.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { mustReadHead, type NodeStatus, nodeStatuses, readNodes } from "../read/lab-read.ts";
import { linkId, qualityAt } from "../read/observe.ts";
import { labOfTopology, withNodeQuality } from "../read/pnetlab-lab.ts";
import { withQuality } from "../write/edit-quality.ts";
import { writeLab } from "../write/write-lab.ts";

const words = ["delay", "jitter", "loss", "bandwidth"] as const;

/**
 * Professional: returns the impaired links from the topology. It has one quality for each side, which is assumed to be both the live and the
 * persisted one. A link with a stopped end is not impaired.
 */
async function topologyQuality({ account }: EvePlace, at: EveLabPath, nodes: readonly NodeStatus[]): Promise<readonly LiveLink[]> {
  const topology = await account.get(`/api/labs${at.url}/topology`, `read the topology of ${at.path}`);
  const up = new Set(nodes.flatMap(({ id, status }) => (status === 2 || status === 3 ? [id] : [])));
  const links: LiveLink[] = [];
  for (const [, value] of entriesOf(topology)) {
    const row = recordOf(value);
    const [source, destination] = [nodeOf(row.source), nodeOf(row.destination)];
    const [mine, theirs] = [sideOf(row, "source"), sideOf(row, "destination")];
    if (source === undefined || !up.has(source) || (destination !== undefined && !up.has(destination))) continue;
    if (mine === undefined && (theirs === undefined || destination === undefined)) continue;
    if (destination === undefined) {
      const index = numberOf(row.source_interfaceId) ?? (await interfaceId({ account }, at, source, textOf(row.source_label) ?? ""));
      if (index !== undefined && mine !== undefined) links.push({ id: `node${source}-${index}`, a: mine });
      continue;
    }
    const [a, b] = source < destination ? [mine, theirs] : [theirs, mine];
    links.push({ id: `bridge${numberOf(row.network_id) ?? 0}`, ...(a && { a }), ...(b && { b }) });
  }
  return links;
}

/** PNETLab: returns the impaired links from the interfaces of nodes, which show the shaping of the session. */
function nodeQuality(lab: UnlLab, nodes: readonly NodeStatus[]): readonly LiveLink[] {
  const shaped = withNodeQuality(lab, nodes);
  const up = new Set(nodes.flatMap(({ id, status }) => (status === 2 || status === 3 ? [id] : [])));
  const whole = (some: Quality): Required<Quality> => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
  return linksOf(shaped).flatMap((link) => {
    const ends = endsOf(link);
    const [a, b] = ends.map((end) => qualityAt(shaped, end));
    if (!ends.every(({ node }) => up.has(node)) || (a === undefined && b === undefined)) return [];
    return { id: linkId(link), ...(a && { a: whole(a) }), ...(b && { b: whole(b) }) };
  });
}

export interface EveLive {
  readonly statuses: readonly NodeStatus[];
  readonly links: readonly LiveLink[];
}

/** Returns the power of all nodes, and the impaired links. One call on Community, two on Professional, three on PNETLab. Throws lab_not_found. */
export async function readLive(place: EvePlace, at: EveLabPath): Promise<EveLive> {
  const { account, world } = place;
  if (world.edition.quality !== "nodes") {
    const statuses = await readNodes(account, at);
    return { statuses, links: world.edition.quality === undefined ? [] : await topologyQuality(place, at, statuses) };
  }
  const data = recordOf(await account.get(`/api/labs${at.url}/topology`, `read the topology of ${at.path}`));
  const statuses = nodeStatuses(data.nodes);
  return { statuses, links: nodeQuality(labOfTopology(statuses, data.networks), statuses) };
}

/** Writes the quality of one link. The host persists it and applies it at once. Throws link_not_found, lab_locked, unsupported. */
export async function setQuality(
  place: EvePlace,
  at: EveLabPath,
  id: string,
  quality: LinkSides<Quality>,
  save: boolean,
): Promise<LinkQualityState> {
  const { world, account } = place;
  if (world.edition.quality === undefined) {
    throw new Failure("unsupported", "EVE-NG Community Edition has no link quality", { data: { feature: "linkQuality" } });
  }
  if (!save) {
    const why = `EVE-NG ${world.edition.name} does not distinguish a temporary quality from a saved one, so a quality is always saved: set save`;
    throw new Failure("unsupported", why, { data: { feature: "linkQuality" } });
  }
  const head = await mustReadHead(account, at);
  if (head.lock !== 0) throw new Failure("lab_locked", `lab ${at.path} is locked on the host: labwright unlock ends that`);
  const before = await world.reader.file(account, at);
  const link = linksOf(before).find((one) => linkId(one) === id);
  if (link === undefined) throw new Failure("link_not_found", `there is no link ${id} in ${at.path}`);
  const ends = endsOf(link);
  const side = (end: UnlEnd) => (ends.findIndex((one) => sameEnd(one, end)) === 0 ? quality.a : quality.b);
  const after: UnlLab = {
    ...before,
    nodes: before.nodes.map((node) => ({
      ...node,
      interfaces: node.interfaces.map((one) => {
        const end = { node: node.id, interface: one.id };
        return ends.some((other) => sameEnd(other, end)) ? withQuality(one, side(end)) : one;
      }),
    })),
  };
  const { got } = await writeLab(place, at, before, after);
  const [a, b] = ends.map((end) => qualityAt(got, end));
  const stored = { ...(a && { a }), ...(b && { b }) };
  const found = (await readLive(place, at)).links.find((one) => one.id === id);
  return { stored, effective: { ...(found?.a && { a: found.a }), ...(found?.b && { b: found.b }) } };
}

function nodeOf(word: unknown): number | undefined {
  const id = /^node(\d+)$/.exec(textOf(word) ?? "")?.[1];
  return id === undefined ? undefined : Number(id);
}

function sideOf(row: Readonly<Record<string, unknown>>, side: "source" | "destination"): Required<Quality> | undefined {
  const [delay = 0, jitter = 0, loss = 0, bandwidth = 0] = words.map((word) => numberOf(row[`${side}_${word}`]));
  return delay === 0 && jitter === 0 && loss === 0 && bandwidth === 0 ? undefined : { delay, jitter, loss, bandwidth };
}

async function interfaceId(
  { account }: Pick<EvePlace, "account">,
  at: EveLabPath,
  node: number,
  label: string,
): Promise<number | undefined> {
  const listed = recordOf(await account.get(`/api/labs${at.url}/nodes/${node}/interfaces`, `list the interfaces of node ${node}`)).ethernet;
  const found = entriesOf(listed).find(([, one]) => textOf(recordOf(one).name) === label)?.[0];
  return found === undefined ? undefined : Number(found);
}
