import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { PcapngReader } from "../../../packets/pcapng-reader.ts";
import type { HostTraffic, TrafficListener } from "../../host-traffic.ts";
import { compileFilter } from "../capture/compile-filter.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { portOf } from "./local-captures.ts";
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
  async function watchOnce(path: string, linkId: string, listener: TrafficListener, signal: AbortSignal): Promise<void> {
    const definition = await user.lab(path);
    const link = definition.links.find(({ id }) => String(id) === linkId);
    if (link === undefined) throw new Failure("link_not_found", `lab ${path} has no link with id ${linkId}`);
    const [a, b] = link.endpoints;
    const [end, own] = "node" in a ? ([a, 0] as const) : "node" in b ? ([b, 1] as const) : [undefined, 0 as const];
    if (end === undefined) return;
    const other = own === 0 ? 1 : 0;
    const { port } = portOf(definition, { nodeId: String(end.node), interface: end.interface }, await state.catalogue());
    const live = state.lab(definition.id);
    await live.adopt();
    if (live.sandbox === null) return;
    let dropped = 0;
    const reader = new PcapngReader({
      packet: (packet) => listener.packet(packet, packet.direction === "in" ? other : own),
      dropped: (all) => {
        if (all > dropped) listener.dropped(all - dropped);
        dropped = all;
      },
    });
    await live.sandbox.pipe([tap, "watch", `port=${port}`, `snaplen=${snapLength}`], (chunk) => reader.push(chunk), signal);
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
    compile: async (filter) => compileFilter((await state.catalogue()).images, filter, user.name),
  };
}
