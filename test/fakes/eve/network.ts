import type { Extra } from "./interface.ts";
import { type Body, htmlEntities, isset, phpInt, phpString } from "./php.ts";

/** The parts of its host that a network uses. */
export interface NetworkHost {
  readonly networkTypes: ReadonlyMap<string, string>;
  readonly random: (low: number, high: number) => number;
}

export class Network {
  readonly id: number;
  readonly #host: NetworkHost;
  #type: string;
  #name: string | undefined;
  #left: unknown;
  #top: unknown;
  #visibility: unknown;
  icon: string | undefined;
  extra: Extra = [];
  #count = 0;

  /** Throws where EVE-NG does: no type, or none that the host has. */
  constructor(p: Body, id: number, host: NetworkHost) {
    if (!isset(p.type) || !host.networkTypes.has(phpString(p.type))) throw new RangeError("30001");
    this.id = id;
    this.#host = host;
    this.#type = phpString(p.type);
    if (isset(p.name) && p.name !== "") this.#name = htmlEntities(phpString(p.name));
    this.#left = position(p.left, 1024);
    this.#top = position(p.top, 768);
    // A value that equals zero keeps its type: a number from a body, a string from the file.
    this.#visibility = !isset(p.visibility) ? 0 : phpInt(p.visibility) === 0 ? p.visibility : 1;
    if (this.isCloud) this.#visibility = 1;
    if (isset(p.icon)) this.icon = phpString(p.icon);
  }

  get type(): string {
    return this.#type;
  }

  get name(): string {
    return this.#name ?? `Network ${this.id}`;
  }

  /** A network without a place is somewhere else each time it is asked, until it is saved. */
  get left(): unknown {
    return this.#left ?? this.#host.random(240, 560);
  }

  get top(): unknown {
    return this.#top ?? this.#host.random(180, 420);
  }

  get visibility(): unknown {
    return this.#visibility;
  }

  get count(): number {
    return this.#count;
  }

  /** @param shown whether one with more than two ends is shown from then on */
  setCount(count: number, shown: boolean): void {
    this.#count = count;
    if (count > 2 && shown) this.#visibility = 1;
  }

  get isCloud(): boolean {
    return this.#type.startsWith("pnet");
  }

  /** Whether anything was changed. */
  edit(p: Body): boolean {
    let changed = false;
    for (const [side, set] of [
      ["left", (value: unknown) => (this.#left = value)],
      ["top", (value: unknown) => (this.#top = value)],
    ] as const) {
      const value = p[side];
      if (!isset(value) || (value !== "" && !isPosition(value))) continue;
      set(value === "" ? undefined : value);
      changed = true;
    }
    if (isset(p.name)) {
      this.#name = p.name === "" ? undefined : htmlEntities(phpString(p.name));
      changed = true;
    }
    if (isset(p.visibility)) {
      this.#visibility = p.visibility;
      changed = true;
    }
    if (isset(p.type) && this.#host.networkTypes.has(phpString(p.type))) {
      this.#type = phpString(p.type);
      changed = true;
    }
    if (isset(p.icon)) this.icon = p.icon === "" ? undefined : phpString(p.icon);
    return changed;
  }
}

export function isPosition(value: unknown): boolean {
  return /^[0-9]+$/.test(phpString(value));
}

/** Old files have percent of a window. */
export function position(value: unknown, window: number): number | undefined {
  if (!isset(value)) return undefined;
  if (isPosition(value)) return phpInt(value);
  const percent = /^([0-9]+)%$/.exec(phpString(value));
  return percent !== null && Number(percent[1]) <= 100 ? Math.trunc((window * Number(percent[1])) / 100) : undefined;
}
