import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { PcapngReader } from "../../../packets/pcapng-reader.ts";
import type { HostTraffic, TrafficListener } from "../../host-traffic.ts";
import { compileFilter } from "../capture/compile-filter.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { portOf } from "./local-captures.ts";
import type { LocalState } from "./local-state.ts";

/** Headers and the beginning of what they carry: all that a line of text needs. */
const seenBytes = 256;
/** How soon after the end of a watch, with its node or its lab, another is tried, ms. */
const againMs = 500;

/** The traffic of the embedded host, as one user sees it: a tap on the fabric's end of a link's first port. `lab` throws lab_not_found. */
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
    await live.sandbox.pipe([tap, "watch", `port=${port}`, `snaplen=${seenBytes}`], (chunk) => reader.push(chunk), signal);
  }

  return {
    watch: async (path, linkId, listener, signal) => {
      while (!signal.aborted) {
        try {
          await watchOnce(path, linkId, listener, signal);
        } catch (error) {
          if (signal.aborted) return;
          // The lab's holder went away in the midst of it: the lab was stopped, and may be started again.
          if (!(error instanceof Failure) || error.code !== "host_error") throw error;
        }
        // No port, or no lab that runs, now. Of the pause only its end by the signal can fail, and the loop looks at that.
        await delay(againMs, undefined, { signal }).catch(() => undefined);
      }
    },
    compile: async (filter) => compileFilter((await state.catalogue()).images, filter, user.name),
  };
}
