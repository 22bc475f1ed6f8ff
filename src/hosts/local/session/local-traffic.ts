import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { PcapngReader } from "../../../packets/pcapng-reader.ts";
import type { HostTraffic, LinkCounters, TrafficListener } from "../../host-traffic.ts";
import { compileFilter } from "../capture/compile-filter.ts";
import type { DefinedLink, DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { type DeviceCounters, deviceCounters } from "../links/device-counters.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodePort } from "./local-captures.ts";
import type { LocalState } from "./local-state.ts";

/** Bytes that are read of each packet: headers and the beginning of the payload are enough for a line of text. */
const snapLength = 256;
/** Pause before a watch is repeated that ended with its node or its lab, ms. */
const retryMs = 500;

/** Returns the traffic of the embedded host for one user, from a tap on the fabric's end of a link's first port. `lab` throws lab_not_found. */
export function localTraffic(
  state: LocalState,
  user: { readonly name: string; readonly lab: (path: string) => Promise<LabDefinition> },
  tap: string,
): HostTraffic {
  const lab = async (path: string) => {
    const definition = await user.lab(path);
    const live = state.lab(definition.id);
    await live.adopt();
    return { definition, sandbox: live.sandbox };
  };

  async function watchOnce(path: string, linkId: string, listener: TrafficListener, signal: AbortSignal): Promise<void> {
    const { definition, sandbox } = await lab(path);
    const link = definition.links.find(({ id }) => String(id) === linkId);
    if (link === undefined) throw new Failure("link_not_found", `lab ${path} has no link with id ${linkId}`);
    const watched = watchedPort(nodesById(definition), link, await state.catalogue());
    if (watched === undefined || sandbox === null) return;
    const { port, own, other } = watched;
    let dropped = 0;
    const reader = new PcapngReader({
      packet: (packet) => listener.packet(packet, packet.direction === "in" ? other : own),
      dropped: (all) => {
        if (all > dropped) listener.dropped(all - dropped);
        dropped = all;
      },
    });
    await sandbox.pipe([tap, "watch", `port=${port}`, `snaplen=${snapLength}`], (chunk) => reader.push(chunk), signal);
  }

  return {
    watch: async (path, linkId, listener, signal) => {
      while (!signal.aborted) {
        try {
          await watchOnce(path, linkId, listener, signal);
        } catch (error) {
          if (signal.aborted) return;
          // The lab's holder ended meanwhile: the lab was stopped, and may be started again.
          if (!(error instanceof Failure) || error.code !== "host_error") throw error;
        }
        // The port does not exist now, or the lab does not run. The pause fails only if the signal aborts it, which ends the loop.
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    },
    counters: async (path) => {
      const { definition, sandbox } = await lab(path);
      if (sandbox === null) return new Map();
      const [devices, catalogue, nodes] = [await deviceCounters(sandbox), await state.catalogue(), nodesById(definition)];
      return new Map(
        definition.links.flatMap((link): readonly (readonly [string, LinkCounters])[] => {
          const watched = watchedPort(nodes, link, catalogue);
          const counters = watched && devices.get(watched.port);
          return watched === undefined || counters === undefined ? [] : [[String(link.id), linkCounters(counters, watched.own)]];
        }),
      );
    },
    compile: async (filter) => compileFilter((await state.catalogue()).images, filter, user.name),
  };
}

interface WatchedPort {
  readonly port: string;
  /** Index of the link's end at this port. */
  readonly own: 0 | 1;
  readonly other: 0 | 1;
}

type NodesById = ReadonlyMap<number, DefinedNode>;

function nodesById({ nodes }: LabDefinition): NodesById {
  return new Map(nodes.map((node) => [node.id, node]));
}

/** Returns the fabric's port at the first end of a link that is a node; undefined if no end is one. */
function watchedPort(nodes: NodesById, { endpoints: [a, b] }: DefinedLink, catalogue: Catalogue): WatchedPort | undefined {
  const [end, own] = "node" in a ? ([a, 0] as const) : "node" in b ? ([b, 1] as const) : [undefined, 0 as const];
  const node = end && nodes.get(end.node);
  if (end === undefined || node === undefined) return undefined;
  return { port: nodePort(node, end.interface, catalogue), own, other: own === 0 ? 1 : 0 };
}

/** Returns the counters of a link from those of the fabric's port: it receives the packets that the node sends. */
function linkCounters({ received, sent }: DeviceCounters, own: 0 | 1): LinkCounters {
  const [first, second] = own === 0 ? [received, sent] : [sent, received];
  return { packets: [first.packets, second.packets], bytes: [first.bytes, second.bytes] };
}
