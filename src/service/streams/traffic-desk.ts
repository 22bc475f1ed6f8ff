import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostTraffic } from "../../hosts/host-traffic.ts";
import type { CapturedPacket } from "../../packets/pcapng-reader.ts";
import { type LabScope, labScope } from "./lab-scope.ts";

/** A watched link, by its host ids. */
export interface WatchedLink {
  readonly host: HostSession;
  readonly path: string;
  /** The host's id of the lab: a later lab at the same path has other links. */
  readonly labId: string;
  readonly linkId: string;
}

/** Who looks at a link. */
export interface LinkViewer {
  readonly packet: (linkId: string, packet: CapturedPacket, from: 0 | 1) => void;
  readonly dropped: (count: number) => void;
  /** Called if the watch fails. A deleted link is not a failure. */
  readonly failed: (error: unknown) => void;
}

interface Watch {
  readonly viewers: Set<LinkViewer>;
  readonly end: AbortController;
}

/** The watched links. All viewers of a link share one watch on the host. */
export class TrafficDesk {
  readonly #watches = new Map<string, Watch>();

  readonly #scope: LabScope;

  /** @param isRecorded whether the service has a record of a lab */
  constructor(isRecorded: (path: string) => boolean) {
    this.#scope = labScope(isRecorded);
  }

  /** Links watched now. */
  get links(): number {
    return this.#watches.size;
  }

  /** Watches a link for a viewer. Returns the function that stops watching. */
  view({ host, path, labId, linkId }: WatchedLink, viewer: LinkViewer): () => void {
    const key = `${this.#scope(host, path)}\0${labId}\0${linkId}`;
    let watch = this.#watches.get(key);
    if (watch === undefined) {
      watch = { viewers: new Set(), end: new AbortController() };
      this.#watches.set(key, watch);
      void this.#run(key, watch, host.traffic!, path, linkId);
    }
    const { viewers, end } = watch;
    viewers.add(viewer);
    return () => {
      viewers.delete(viewer);
      if (viewers.size > 0) return;
      if (this.#watches.get(key)?.viewers === viewers) this.#watches.delete(key);
      end.abort();
    };
  }

  close(): void {
    for (const { end } of this.#watches.values()) end.abort();
    this.#watches.clear();
  }

  async #run(key: string, watch: Watch, traffic: HostTraffic, path: string, linkId: string): Promise<void> {
    const { viewers, end } = watch;
    const listener = {
      packet: (packet: CapturedPacket, from: 0 | 1) => {
        for (const viewer of viewers) viewer.packet(linkId, packet, from);
      },
      dropped: (count: number) => {
        for (const viewer of viewers) viewer.dropped(count);
      },
    };
    try {
      await traffic.watch(path, linkId, listener, end.signal);
    } catch (error) {
      const gone = error instanceof Failure && (error.code === "link_not_found" || error.code === "lab_not_found");
      if (!gone && !end.signal.aborted) for (const viewer of [...viewers]) viewer.failed(error);
    } finally {
      if (this.#watches.get(key) === watch) this.#watches.delete(key);
    }
  }
}
