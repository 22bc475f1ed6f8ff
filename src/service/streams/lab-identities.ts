import type { Host } from "../../hosts/host.ts";
import { RecentMap } from "../common/recent-map.ts";

export interface LabIdentitiesOptions {
  readonly host: Pick<Host, "labId">;
  /** Paths of labs with open streams or consoles. */
  readonly watched: () => Iterable<string>;
  /** Called if the path belongs to another lab than before, or to none. */
  readonly left: (path: string) => void;
  /** Called if the identity of a lab cannot be read and no caller waits for it. */
  readonly failed: (path: string, error: unknown) => void;
  /** Default 1,000. */
  readonly intervalMs?: number;
}

/**
 * Tracks which lab each path belongs to. The lab at a path can change without a job: if its definition is lost or
 * edited by hand, and another lab takes the path.
 */
export class LabIdentities {
  readonly #options: LabIdentitiesOptions;
  readonly #seen = new RecentMap<string>(10_000);
  readonly #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: LabIdentitiesOptions) {
    this.#options = options;
    if (options.host.labId === undefined) return;
    this.#timer = setInterval(() => void this.#lookAtWatched(), options.intervalMs ?? 1_000).unref();
  }

  /** Returns the host's id of the lab at this path; "" if there is none, or if the host does not report ids. */
  async look(path: string): Promise<string> {
    const id = (await this.#options.host.labId?.(path)) ?? "";
    const before = this.#seen.get(path);
    this.#seen.set(path, id);
    if (before !== undefined && before !== "" && before !== id) this.#options.left(path);
    return id;
  }

  /** Does the same in the background. */
  notice(path: string): void {
    if (this.#options.host.labId !== undefined) this.look(path).catch((error: unknown) => this.#options.failed(path, error));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #lookAtWatched(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (const path of new Set(this.#options.watched())) await this.look(path).catch((error: unknown) => this.#options.failed(path, error));
    this.#isLooking = false;
  }
}
