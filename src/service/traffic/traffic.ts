import type { Readable } from "node:stream";
import { compareNatural } from "../../base/natural-order.ts";
import { Failure } from "../../contract/errors.ts";
import type { TrafficAttachData, TrafficPayload } from "../../contract/schemas/editing.ts";
import { endpointKeys, endpointOf, joinIds } from "../../engine/compare/join.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostTraffic } from "../../hosts/host-traffic.ts";
import { noneKind } from "../../hosts/none/none-host.ts";
import { type Endpoint, endpointText, type TrafficFilter } from "../../intent/lab/lab.ts";
import { packetFilter } from "../../packets/bpf.ts";
import type { Call, Caller, Upgrade } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { badRequest } from "../common/refusals.ts";
import { addressObserved, addressPath } from "../context/address.ts";
import { keyedNodes, nodeNotFound } from "../context/chosen-nodes.ts";
import type { ClockPart, IdentitiesPart, LogPart, LookupParts, ObservationsPart, StreamsPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { Tickets } from "../sessions/tickets.ts";
import { joinStream } from "../streams/join-stream.ts";
import { TrafficDesk, type WatchedLink } from "../streams/traffic-desk.ts";
import { RatesStream } from "./rates-stream.ts";
import { type NamedFilter, type NamedLink, TrafficStream } from "./traffic-stream.ts";

interface TrafficGrant {
  readonly target: Target;
  readonly filters: readonly NamedFilter[];
  readonly onlyFiltered: boolean;
  /** Whether the stream has rates instead of packets. */
  readonly rates: boolean;
  readonly node?: string;
  readonly link?: string;
}

/** A link of the running lab, by its host id. */
interface CurrentLink extends NamedLink {
  readonly nodes: readonly string[];
}

type CurrentLinks = ReadonlyMap<string, CurrentLink>;

/** A stream, and the functions that change and end what it contains. */
interface TrafficSource {
  readonly stream: Readable;
  /** Called with the links of the lab and the ids of those that the viewer wants, first at once. */
  readonly show: (current: CurrentLinks, wanted: ReadonlySet<string>) => void;
  readonly end: () => void;
}

/** Maximum number of links for one viewer: each is a process on the host. */
const maxLinks = 64;
/** Interval at which new and deleted links are detected, ms. */
const lookMs = 2_000;

type TrafficParts = LookupParts & ClockPart & LogPart & ObservationsPart & StreamsPart & IdentitiesPart;

/** Streams the packets of a lab's links, with the lab's node and link names, to users with the right `view`. */
export class Traffic {
  readonly #context: TrafficParts;
  readonly #desk: TrafficDesk;
  readonly #tickets: Tickets<TrafficGrant>;

  constructor(context: TrafficParts) {
    this.#context = context;
    this.#desk = new TrafficDesk((path) => context.store.labs.get(path) !== undefined);
    this.#tickets = new Tickets(context);
  }

  /** Links watched now. */
  get links(): number {
    return this.#desk.links;
  }

  async attach(caller: Caller, payload: TrafficPayload): Promise<TrafficAttachData> {
    // A machine that only answers calls passes those about labs on.
    if (this.#context.host.kind !== noneKind) await trafficOf(await this.#context.sessions.hostSession(caller));
    const { target, observed } = await addressObserved(this.#context, caller, payload, "view");
    const current = currentLinks(target, observed);
    const { link } = payload;
    // Empty: all nodes, as in every operation.
    const node = payload.node === "" ? undefined : payload.node;
    const nodes = keyedNodes(observed, joinIds(target.intent?.lab ?? null, observed, target.ids));
    if (node !== undefined && nodes.every(({ key }) => key !== node)) throw nodeNotFound(target.path, node, nodes);
    const wanted = link === undefined ? undefined : linkNamed(current, link);
    if (link !== undefined && wanted === undefined) throw new Failure("link_not_found", `${target.path} has no link ${link}`);
    const filters = await this.#filters(target, observed, current, payload.filters);
    const grant: TrafficGrant = {
      target,
      filters,
      onlyFiltered: payload.filters !== undefined,
      rates: payload.rates === true,
      ...(node !== undefined && { node }),
      ...(wanted !== undefined && { link: wanted.key }),
    };
    if (grant.rates && grant.onlyFiltered) throw badRequest("/filters", "rates count all packets: leave out filters, or rates");
    const many = selected(grant, current).size;
    if (many > maxLinks && !grant.rates) {
      const message = `${many} links are more than can be watched at once: choose a node, a link, filters with nodes or links, or rates`;
      throw new Failure("capture_limit", message, { data: { limit: "watched_links", most: maxLinks } });
    }
    return { stream: this.#tickets.issue(caller.session, grant), transport: "host-traffic" };
  }

  /** Redeems a ticket. The stream ends with the session, the right to the lab, or the lab. */
  async stream(caller: Caller, ticket: string, call: Call): Promise<Upgrade> {
    const grant = this.#tickets.redeem(ticket, caller.session);
    const { path } = grant.target;
    const { host } = await addressPath(this.#context, caller, path);
    const traffic = await trafficOf(host);
    // Registered first, so that the stream ends if another lab takes the path from now on.
    const labId = await this.#context.identities.look(path);
    const failed = (error: unknown) => {
      this.#context.log("warn", "watching a link failed", { lab: path, error: String(error) });
      close();
    };
    const { stream, show, end } = grant.rates
      ? ratesSource(traffic, path, failed)
      : this.#packetSource(grant, { host, path, labId }, failed);
    const close = () => void stream.destroy();
    const look = async () => {
      const observed = await this.#context.observations.structure(host, path, lookMs);
      if (stream.destroyed) return;
      if (observed === null || (labId !== "" && observed.id !== labId)) return close();
      const current = currentLinks(grant.target, observed);
      show(current, selected(grant, current));
    };
    await look();
    const timer = setInterval(() => look().catch(failed), lookMs);
    timer.unref();
    const forget = [this.#context.sessions.onEnd(caller.session, close), this.#context.streams.add(caller.user, path, close)];
    stream.once("close", () => {
      clearInterval(timer);
      end();
      for (const each of forget) each();
    });
    // The client may have disconnected meanwhile.
    if (call.signal.aborted) close();
    else call.signal.addEventListener("abort", close, { once: true });
    return {
      protocol: "host-traffic",
      attach: (connection) => {
        // From now on the end of the connection ends the stream.
        call.signal.removeEventListener("abort", close);
        joinStream(connection, stream);
      },
    };
  }

  close(): void {
    this.#desk.close();
  }

  /** Returns a stream of packets. Each shown link is watched on the host, together with other viewers. */
  #packetSource(
    { filters, onlyFiltered }: TrafficGrant,
    lab: Omit<WatchedLink, "linkId">,
    failed: (error: unknown) => void,
  ): TrafficSource {
    const watched = new Map<string, () => void>();
    let links: CurrentLinks = new Map();
    const stream = new TrafficStream({ filters, onlyFiltered, link: (id) => links.get(id) });
    const viewer = { packet: stream.packet.bind(stream), dropped: stream.dropped.bind(stream), failed };
    return {
      stream,
      show: (current, wanted) => {
        links = current;
        for (const [linkId, end] of watched) {
          if (wanted.has(linkId)) continue;
          end();
          watched.delete(linkId);
        }
        for (const linkId of [...wanted].slice(0, maxLinks)) {
          if (!watched.has(linkId)) watched.set(linkId, this.#desk.view({ ...lab, linkId }, viewer));
        }
      },
      end: () => {
        for (const end of watched.values()) end();
      },
    };
  }

  /** Returns the requested filters, by default all filters, to label packets. Throws bad_request for unknown names. */
  async #filters(
    target: Target,
    observed: ObservedLab,
    current: ReadonlyMap<string, CurrentLink>,
    names: readonly string[] | undefined,
  ): Promise<readonly NamedFilter[]> {
    const all = target.intent?.lab.trafficFilters ?? observed.trafficFilters;
    const wanted = names?.map((name) => {
      const found = all.find((filter) => filter.name === name);
      if (found !== undefined) return found;
      const known = all.map((filter) => filter.name).join(", ") || "none";
      throw badRequest("/filters", `the lab has no traffic filter ${JSON.stringify(name)}; it has ${known}`);
    });
    const traffic = await trafficOf(target.host);
    const compiled: NamedFilter[] = [];
    for (const filter of wanted ?? all) {
      const links = linksOf(filter, current);
      try {
        const program = packetFilter(await traffic.compile(filter.match));
        compiled.push({ name: filter.name, program, ...(links !== undefined && { links }) });
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== "bad_request") throw error;
        // A filter that was not requested labels no packets.
        if (names !== undefined) throw badRequest("/filters", `${filter.name}: ${error.message}`);
      }
    }
    return compiled;
  }
}

/** Returns a stream of rates, from the host's counters of the links. */
function ratesSource(traffic: HostTraffic, path: string, failed: (error: unknown) => void): TrafficSource {
  let links: readonly (readonly [string, NamedLink])[] = [];
  const stream = new RatesStream(async () => {
    const counters = await traffic.counters(path);
    return links.flatMap(([id, { key, ends }]) => {
      const found = counters.get(id);
      return found === undefined ? [] : [{ key, ends, counters: found }];
    });
  });
  stream.on("error", failed);
  return {
    stream,
    show: (current, wanted) => {
      links = [...current].filter(([id]) => wanted.has(id));
    },
    end: () => undefined,
  };
}

/** Returns the ids of the requested links. */
function selected({ filters, onlyFiltered, node, link }: TrafficGrant, current: ReadonlyMap<string, CurrentLink>): ReadonlySet<string> {
  const wanted = [...current].filter(
    ([, one]) =>
      (node === undefined || one.nodes.includes(node)) &&
      (link === undefined || one.key === link) &&
      (!onlyFiltered || filters.some(({ links }) => links === undefined || links.has(one.key))),
  );
  return new Set(wanted.sort(([, a], [, b]) => compareNatural(a.key, b.key)).map(([id]) => id));
}

/** Returns the links to which a filter is limited, `undefined` for all. */
function linksOf({ nodes, links }: TrafficFilter, current: ReadonlyMap<string, CurrentLink>): ReadonlySet<string> | undefined {
  if (nodes === undefined && links === undefined) return undefined;
  const named = (links ?? []).flatMap((text) => linkNamed(current, text)?.key ?? text);
  const reached = [...current.values()].filter((one) => one.nodes.some((key) => nodes?.includes(key) === true)).map(({ key }) => key);
  return new Set([...named, ...reached]);
}

function currentLinks(target: Target, observed: ObservedLab): ReadonlyMap<string, CurrentLink> {
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const keys = endpointKeys(ids);
  const keyOf = new Map(Object.entries(ids.links).map(([key, id]) => [id, key]));
  return new Map(
    observed.links.map((link) => {
      const ends = link.endpoints.map((end) => endpointOf(end, keys)) as unknown as readonly [Endpoint, Endpoint];
      const nodes = ends.flatMap((end) => ("node" in end ? [end.node] : []));
      return [link.id, { key: keyOf.get(link.id) ?? link.id, ends: [endpointText(ends[0]), endpointText(ends[1])], nodes }];
    }),
  );
}

/** Finds a link by its key, or by its endpoints in the opposite order. */
function linkNamed(current: ReadonlyMap<string, CurrentLink>, text: string): CurrentLink | undefined {
  const turned = text.split(" -- ").reverse().join(" -- ");
  return [...current.values()].find(({ key }) => key === text || key === turned);
}

/** Throws unsupported. */
async function trafficOf(host: HostSession): Promise<HostTraffic> {
  if (host.traffic === undefined || !(await host.capabilities()).features.traffic) throw unsupported("traffic");
  return host.traffic;
}
