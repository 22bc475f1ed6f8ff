import type { Quality } from "../../../intent/lab/lab.ts";
import type { DefinedLink } from "../definitions/definition.ts";

/** The impairments of both directions of a link: `a` of frames that leave endpoints[0], `b` of frames that leave endpoints[1]. */
export interface LinkQuality {
  readonly a: Required<Quality>;
  readonly b: Required<Quality>;
}

export function completeQuality(quality: Quality | undefined): Required<Quality> {
  const { delay = 0, jitter = 0, loss = 0, bandwidth = 0 } = quality ?? {};
  return { delay, jitter, loss, bandwidth };
}

export function completeLinkQuality(quality: DefinedLink["quality"]): LinkQuality {
  return { a: completeQuality(quality?.a), b: completeQuality(quality?.b) };
}

export function isImpaired({ delay, jitter, loss, bandwidth }: Required<Quality>): boolean {
  return delay !== 0 || jitter !== 0 || loss !== 0 || bandwidth !== 0;
}

/** Returns only the impaired sides. */
export function impairedSides({ a, b }: LinkQuality): Partial<LinkQuality> {
  return { ...(isImpaired(a) ? { a } : {}), ...(isImpaired(b) ? { b } : {}) };
}

export function isSameQuality(one: LinkQuality, other: LinkQuality): boolean {
  const text = ({ a, b }: LinkQuality) =>
    [a, b].map(({ delay, jitter, loss, bandwidth }) => `${delay} ${jitter} ${loss} ${bandwidth}`).join();
  return text(one) === text(other);
}

/**
 * Returns whether `read`, a quality that the kernel reports, is the quality that it was given. The kernel truncates times to whole µs and loss to six digits:
 * it reports 20.5 ms as 20.499.
 */
export function isReadBackOf(given: LinkQuality, read: LinkQuality): boolean {
  const near = { delay: 0.0015, jitter: 0.0015, loss: 0.0005, bandwidth: 0 };
  const fields = Object.keys(near) as readonly (keyof typeof near)[];
  return (["a", "b"] as const).every((side) => fields.every((field) => Math.abs(given[side][field] - read[side][field]) <= near[field]));
}

/** Returns the quality as it is persisted: without zeros; `undefined` if nothing is left. */
export function storedQuality(quality: { readonly a?: Quality; readonly b?: Quality }): DefinedLink["quality"] {
  const side = (one: Quality | undefined) => {
    const entries = Object.entries(completeQuality(one)).filter(([, value]) => value !== 0);
    return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Quality);
  };
  const [a, b] = [side(quality.a), side(quality.b)];
  return a === undefined && b === undefined ? undefined : { ...(a && { a }), ...(b && { b }) };
}
