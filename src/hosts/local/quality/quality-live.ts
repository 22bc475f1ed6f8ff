import type { DefinedLink } from "../definitions/definition.ts";
import { completeLinkQuality, isImpaired, isReadBackOf, isSameQuality, type LinkQuality } from "./quality.ts";

/**
 * The wanted qualities of one lab's links: the declared quality, or a live change of it. A live change ends when the declared quality changes, or when a node
 * at an end of the link stops.
 */
export class LinkQualities {
  readonly #live = new Map<number, LinkQuality>();
  /** Link → its declared quality when `followLink` was last called. */
  readonly #declared = new Map<number, LinkQuality>();

  /** Sets a live change. */
  setLive(link: DefinedLink, quality: LinkQuality): void {
    this.#declared.set(link.id, completeLinkQuality(link.quality));
    this.#live.set(link.id, quality);
  }

  /**
   * Ends the live changes of links whose declared quality has changed, and forgets links that are gone.
   * @param inForce link → the quality that the shaper has, which an earlier run of the service may have set
   */
  follow(links: readonly DefinedLink[], inForce: ReadonlyMap<number, LinkQuality>): void {
    const known = new Set(links.map(({ id }) => id));
    for (const id of this.#declared.keys()) if (!known.has(id)) this.forget(id);
    for (const link of links) this.followLink(link, inForce.get(link.id));
  }

  /** Does the same for one link of many. */
  followLink(link: DefinedLink, inForce: LinkQuality | undefined): void {
    const now = completeLinkQuality(link.quality);
    const before = this.#declared.get(link.id);
    if (before === undefined && inForce !== undefined && !isReadBackOf(now, inForce)) this.#live.set(link.id, inForce);
    if (before !== undefined && !isSameQuality(before, now)) this.#live.delete(link.id);
    this.#declared.set(link.id, now);
  }

  forget(id: number): void {
    this.#live.delete(id);
    this.#declared.delete(id);
  }

  /** Ends the live changes of all links but the shaped ones: a link with a stopped node is not shaped. */
  keepLive(shaped: { has(id: number): boolean }): void {
    for (const id of this.#live.keys()) if (!shaped.has(id)) this.endLive(id);
  }

  /** Ends the live change of the link, if it has one. */
  endLive(id: number): void {
    this.#live.delete(id);
  }

  of(link: DefinedLink): LinkQuality {
    return this.#live.get(link.id) ?? completeLinkQuality(link.quality);
  }

  /** Returns whether frames must go through the shaper. They do if only the declared quality is impaired, so that the shaper remembers the live change. */
  needsShaper(link: DefinedLink): boolean {
    return [this.of(link), completeLinkQuality(link.quality)].some(({ a, b }) => isImpaired(a) || isImpaired(b));
  }
}
