import type { Quality } from "../../../intent/lab/lab.ts";
import type { DefinedLink } from "../definitions/definition.ts";

/** What is done to each direction of a link: a what leaves endpoints[0], b what leaves endpoints[1]. */
export interface Sides {
  readonly a: Required<Quality>;
  readonly b: Required<Quality>;
}

export function wholeQuality(quality: Quality | undefined): Required<Quality> {
  const { delay = 0, jitter = 0, loss = 0, bandwidth = 0 } = quality ?? {};
  return { delay, jitter, loss, bandwidth };
}

export function sidesOf(quality: DefinedLink["quality"]): Sides {
  return { a: wholeQuality(quality?.a), b: wholeQuality(quality?.b) };
}

export function hasEffect({ delay, jitter, loss, bandwidth }: Required<Quality>): boolean {
  return delay !== 0 || jitter !== 0 || loss !== 0 || bandwidth !== 0;
}

/** Only the sides with an effect. */
export function effects({ a, b }: Sides): { readonly a?: Required<Quality>; readonly b?: Required<Quality> } {
  return { ...(hasEffect(a) ? { a } : {}), ...(hasEffect(b) ? { b } : {}) };
}

export function sameSides(one: Sides, other: Sides): boolean {
  const words = ({ a, b }: Sides) => [a, b].map(({ delay, jitter, loss, bandwidth }) => `${delay} ${jitter} ${loss} ${bandwidth}`).join();
  return words(one) === words(other);
}

/** Whether what the kernel tells is what it was asked for. It tells times in whole µs and shares in six digits, both cut off: 20.5 ms as 20.499. */
export function isToldAs(asked: Sides, told: Sides): boolean {
  const near = { delay: 0.0015, jitter: 0.0015, loss: 0.0005, bandwidth: 0 };
  const fields = Object.keys(near) as readonly (keyof typeof near)[];
  return (["a", "b"] as const).every((side) => fields.every((field) => Math.abs(asked[side][field] - told[side][field]) <= near[field]));
}

/** As it is persisted: without what has no effect; undefined where nothing is left. */
export function storedQuality(quality: { readonly a?: Quality; readonly b?: Quality }): DefinedLink["quality"] {
  const side = (one: Quality | undefined) => {
    const entries = Object.entries(wholeQuality(one)).filter(([, value]) => value !== 0);
    return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Quality);
  };
  const [a, b] = [side(quality.a), side(quality.b)];
  return a === undefined && b === undefined ? undefined : { ...(a && { a }), ...(b && { b }) };
}
