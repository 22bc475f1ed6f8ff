import type { DefinedLink } from "../definitions/definition.ts";
import { hasEffect, isToldAs, type Sides, sameSides, sidesOf } from "./quality.ts";

/**
 * What the links of one lab are to be like now: as declared, except those that were changed live only. A live change lasts until the quality is
 * declared anew, or an end of the link stops.
 */
export class LinkQualities {
  readonly #live = new Map<number, Sides>();
  /** As declared when last seen. */
  readonly #declared = new Map<number, Sides>();

  /** Changes the link until further notice, without declaring it. */
  change(link: DefinedLink, sides: Sides): void {
    this.#declared.set(link.id, sidesOf(link.quality));
    this.#live.set(link.id, sides);
  }

  /** Forgets live changes that no longer count. @param standing what is in force, by link, where that is known and may have come from an earlier run */
  follow(links: readonly DefinedLink[], standing: ReadonlyMap<number, Sides>): void {
    const known = new Set(links.map(({ id }) => id));
    for (const id of this.#declared.keys()) if (!known.has(id)) this.forget(id);
    for (const link of links) this.followLink(link, standing.get(link.id));
  }

  /** The same for one link of many. */
  followLink(link: DefinedLink, stands: Sides | undefined): void {
    const now = sidesOf(link.quality);
    const before = this.#declared.get(link.id);
    if (before === undefined && stands !== undefined && !isToldAs(now, stands)) this.#live.set(link.id, stands);
    if (before !== undefined && !sameSides(before, now)) this.#live.delete(link.id);
    this.#declared.set(link.id, now);
  }

  forget(id: number): void {
    this.#live.delete(id);
    this.#declared.delete(id);
  }

  /** The live change of a link whose ends do not both live is over. */
  settle(standing: ReadonlySet<number>): void {
    for (const id of this.#live.keys()) this.settleLink(id, standing.has(id));
  }

  /** The same for one link. */
  settleLink(id: number, stands: boolean): void {
    if (!stands) this.#live.delete(id);
  }

  of(link: DefinedLink): Sides {
    return this.#live.get(link.id) ?? sidesOf(link.quality);
  }

  /** Whether frames must go through the shaper: also where a declared effect is cleared live, so that the shaper remembers it. */
  shapes(link: DefinedLink): boolean {
    return [this.of(link), sidesOf(link.quality)].some(({ a, b }) => hasEffect(a) || hasEffect(b));
  }
}
