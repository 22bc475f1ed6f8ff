import type { LinkQuality } from "../../contract/schemas/observe.ts";
import type { Place } from "../topology/layout/layout.ts";

/** A lab's sections as the intent has them, in plain data. */
export interface Sections {
  readonly nodes?: Readonly<Record<string, unknown>> | undefined;
  readonly networks?: Readonly<Record<string, unknown>> | undefined;
  readonly links?: readonly unknown[] | undefined;
}

/** Nodes or networks with other positions; what the intent does not know is left out. */
export function withPositions(
  members: Readonly<Record<string, unknown>> | undefined,
  moved: ReadonlyMap<string, Place>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members ?? {}).map(([key, value]) => {
      const position = moved.get(key);
      return [key, position === undefined ? value : { ...(value as object | null), position }];
    }),
  );
}

/**
 * The links with another quality of one; undefined where none has these endpoints. `a` is of what leaves the first of `endpoints`, however the
 * intent has them turned. No quality at all takes the field away.
 */
export function withQuality(
  links: readonly unknown[] | undefined,
  endpoints: readonly string[],
  { a, b }: { readonly a: LinkQuality | undefined; readonly b: LinkQuality | undefined },
): readonly unknown[] | undefined {
  let found = false;
  const changed = (links ?? []).map((link) => {
    const ends = endsOf(link);
    const straight = ends[0] === endpoints[0] && ends[1] === endpoints[1];
    if (!straight && !(ends[0] === endpoints[1] && ends[1] === endpoints[0])) return link;
    found = true;
    const [first, second] = straight ? [a, b] : [b, a];
    const { quality: _before, ...rest } = Array.isArray(link) ? { endpoints: link } : (link as Readonly<Record<string, unknown>>);
    if (first === undefined && second === undefined) return rest;
    return { ...rest, quality: { ...(first !== undefined && { a: first }), ...(second !== undefined && { b: second }) } };
  });
  return found ? changed : undefined;
}

/** "r1:eth1" or a network's key, of the short and of the long form. */
function endsOf(link: unknown): readonly string[] {
  const endpoints = Array.isArray(link) ? link : (link as { readonly endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints)) return [];
  return endpoints.map((end: unknown) => {
    if (typeof end === "string") return end;
    const { node, interface: name } = end as { readonly node?: unknown; readonly interface?: unknown };
    return `${node}:${name}`;
  });
}
