import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import { type LinkQualityData, LinkQualityPayload, type LinkSuspendData, LinkSuspendPayload } from "../../contract/schemas/links.ts";
import { flag } from "../../contract/schemas/shapes.ts";
import { endpointKeys, endpointOf, joinIds } from "../../engine/compare/join.ts";
import type { ObservedEndpoint, ObservedLink } from "../../engine/model/observed.ts";
import type { LinkSides } from "../../hosts/host.ts";
import { type Endpoint, endpointText, linkKey } from "../../intent/lab/lab.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import { addressChange } from "../context/address.ts";
import { type KeyedNode, keyedNodes, keysOfName } from "../context/chosen-nodes.ts";
import type { ChangeParts, JobsPart, LookupParts } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";

/** Journal request of a link change. Sides refer to `endpoints`. */
const QualityRequest = Type.Object({
  endpoints: LinkQualityPayload.properties.endpoints,
  quality: Type.Object({ a: LinkQualityPayload.properties.a, b: LinkQualityPayload.properties.b }),
  save: flag,
});
type QualityRequest = Static<typeof QualityRequest>;

/** side absent: both. */
const SuspendRequest = Type.Object({
  endpoints: LinkSuspendPayload.properties.endpoints,
  suspended: flag,
  side: LinkSuspendPayload.properties.side,
});
type SuspendRequest = Static<typeof SuspendRequest>;

export const linkQualityKind: ChangeKind<typeof QualityRequest, LinkQualityData> = {
  operation: "applyLinkQuality",
  version: 1,
  request: QualityRequest,
  isStepless: true,
  run: ({ job, target }, request) => changeQuality(job, target, request),
};

export const linkSuspendKind: ChangeKind<typeof SuspendRequest, LinkSuspendData> = {
  operation: "setLinkSuspend",
  version: 1,
  request: SuspendRequest,
  isStepless: true,
  run: ({ job, target }, request) => changeSuspend(job, target, request),
};

/** Sets the quality of a link, with `save` also in the definition on the host. Throws link_not_found, and unsupported if the host has no link quality. */
export async function applyLinkQuality(
  context: ChangeParts,
  caller: Caller,
  payload: LinkQualityPayload,
  call: ChangeCall,
): Promise<LinkQualityData | JobStarted> {
  const target = await changeable(context, caller, payload, "linkQuality");
  const { endpoints, a, b, save } = payload;
  const request: QualityRequest = { endpoints, quality: { ...(a && { a }), ...(b && { b }) }, save: save === true };
  return runChange(context, target, call, linkQualityKind, request);
}

/** Throws link_not_found, bad_request for the side of a network, and unsupported if the host cannot suspend links. */
export async function setLinkSuspend(
  context: ChangeParts,
  caller: Caller,
  payload: LinkSuspendPayload,
  call: ChangeCall,
): Promise<LinkSuspendData | JobStarted> {
  const target = await changeable(context, caller, payload, "linkSuspend");
  const { endpoints, suspended, side } = payload;
  const request: SuspendRequest = { endpoints, suspended, ...(side && { side }) };
  return runChange(context, target, call, linkSuspendKind, request);
}

/** Safe to run again. */
async function changeQuality(job: Job, target: Target, { endpoints, quality, save }: QualityRequest): Promise<LinkQualityData> {
  const found = await findLink(target, endpoints);
  refuseCancelled(job);
  const state = await target.host.setLinkQuality(target.path, found.link.id, found.turn(quality), { save });
  return {
    lab: target.path,
    link: found.key,
    endpoints: [...endpoints],
    stored: found.turn(state.stored),
    effective: found.turn(state.effective),
    saved: save,
  };
}

/** Safe to run again. */
export async function changeSuspend(
  job: Pick<Job, "signal">,
  target: Target,
  { endpoints, suspended, side }: SuspendRequest,
): Promise<LinkSuspendData> {
  const found = await findLink(target, endpoints);
  refuseCancelled(job);
  const wanted: LinkSides<boolean> =
    side === undefined ? { a: suspended, b: suspended } : side === "a" ? { a: suspended } : { b: suspended };
  if (side !== undefined && "networkId" in found.link.endpoints[(side === "a") === found.straight ? 0 : 1]) {
    throw badRequest("/side", `${endpoints[side === "a" ? 0 : 1]} is a network: a link is suspended at a node's side of it`);
  }
  const { a = false, b = false } = found.turn(await target.host.setLinkSuspend(target.path, found.link.id, found.turn(wanted)));
  return { lab: target.path, link: found.key, suspended: { a, b } };
}

function refuseCancelled({ signal }: Pick<Job, "signal">): void {
  if (signal.aborted) throw new Failure("cancelled", "the change was cancelled: the link is as it was");
}

async function changeable(
  context: LookupParts & JobsPart,
  caller: Caller,
  payload: LinkQualityPayload | LinkSuspendPayload,
  feature: "linkQuality" | "linkSuspend",
): Promise<Target> {
  const target = await addressChange(context, caller, payload, "operate");
  const { features } = await target.host.capabilities();
  if (!features[feature]) throw unsupported(feature);
  return target;
}

interface FoundLink {
  readonly link: Pick<ObservedLink, "id" | "endpoints">;
  readonly key: string;
  /** The caller's first endpoint is the host's first. */
  readonly straight: boolean;
  /** Converts the caller's sides to the host's, or back. */
  readonly turn: <T>(sides: LinkSides<T>) => LinkSides<T>;
}

async function findLink(target: Target, endpoints: readonly [string, string]): Promise<FoundLink> {
  const known = await findRecorded(target, endpoints);
  if (known !== undefined) return known;
  const observed = await target.host.observe(target.path);
  if (observed === null) throw labNotFound(target.path);
  refuseLocked(observed);
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const keys = endpointKeys(ids);
  for (const link of observed.links) {
    const [a, b] = link.endpoints.map((end) => endpointText(endpointOf(end, keys)));
    const straight = a === endpoints[0] && b === endpoints[1];
    if (!straight && !(a === endpoints[1] && b === endpoints[0])) continue;
    const key = Object.entries(ids.links).find(([, id]) => id === link.id)?.[0] ?? link.id;
    return foundLink(link, key, straight);
  }
  const renamed = endpoints.flatMap((text) => renamedHint(text, keyedNodes(observed, ids)));
  throw new Failure("link_not_found", `${target.path} has no link between ${endpoints[0]} and ${endpoints[1]}`, {
    data: { endpoints, ...(renamed.length > 0 && { hint: renamed.join("; ") }) },
  });
}

/** Returns which key to use if an endpoint begins with a node's name on the host, not with its key. */
function renamedHint(text: string, nodes: readonly KeyedNode[]): readonly string[] {
  const end = endpointFrom(text);
  if (!("node" in end) || nodes.some(({ key }) => key === end.node)) return [];
  return keysOfName(end.node, nodes).map((key) => `${end.node} is the name of ${key} on the host: use ${key}:${end.interface}`);
}

/**
 * Finds a link by the ids in the record and the keys in the intent, without reading the whole lab. Returns undefined if only a join of the whole lab
 * can find it.
 */
async function findRecorded(
  { host, path, record, intent, ids }: Target,
  endpoints: readonly [string, string],
): Promise<FoundLink | undefined> {
  if (host.findLink === undefined || record === undefined || ids !== record.ids) return undefined;
  const known = (kind: "nodes" | "networks", key: string) => {
    const wanted = intent === undefined || intent.lab[kind].some((one) => one.key === key);
    return wanted && Object.hasOwn(ids[kind], key) ? ids[kind][key] : undefined;
  };
  const native = (end: Endpoint): ObservedEndpoint | undefined => {
    const id = "node" in end ? known("nodes", end.node) : known("networks", end.network);
    if (id === undefined) return undefined;
    return "node" in end ? { nodeId: id, interface: end.interface } : { networkId: id };
  };
  const [x, y] = [endpointFrom(endpoints[0]), endpointFrom(endpoints[1])];
  const [a, b] = [native(x), native(y)];
  const link = a && b && (await host.findLink(path, [a, b]));
  return link && foundLink(link, linkKey(x, y), sameEnd(link.endpoints[0], a));
}

/** Parses an end of a link: keys of nodes contain no colon. */
function endpointFrom(text: string): Endpoint {
  const colon = text.indexOf(":");
  return colon < 0 ? { network: text } : { node: text.slice(0, colon), interface: text.slice(colon + 1) };
}

function foundLink(link: FoundLink["link"], key: string, straight: boolean): FoundLink {
  return { link, key, straight, turn: (sides) => (straight ? sides : turned(sides)) };
}

function sameEnd(one: ObservedEndpoint, other: ObservedEndpoint): boolean {
  if ("networkId" in one) return "networkId" in other && one.networkId === other.networkId;
  return "nodeId" in other && one.nodeId === other.nodeId && one.interface === other.interface;
}

function turned<T>({ a, b }: LinkSides<T>): LinkSides<T> {
  return { ...(b !== undefined && { a: b }), ...(a !== undefined && { b: a }) };
}
