import type { LinkQuality } from "../../contract/schemas/observe.ts";

/** A position in the drawing, as the intent stores it. */
export interface Position {
  readonly x: number;
  readonly y: number;
}

/** The sections of a lab's intent that the pages edit, as plain data. */
export interface Sections {
  readonly nodes?: Readonly<Record<string, unknown>> | undefined;
  readonly networks?: Readonly<Record<string, unknown>> | undefined;
  readonly links?: readonly unknown[] | undefined;
}

/** Returns nodes or networks with new positions. Positions of keys that the intent does not have are ignored. */
export function withPositions(
  members: Readonly<Record<string, unknown>> | undefined,
  moved: ReadonlyMap<string, Position>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members ?? {}).map(([key, value]) => {
      const position = moved.get(key);
      return [key, position === undefined ? value : { ...(value as object | null), position }];
    }),
  );
}

/**
 * Returns the links with a new quality for one of them; undefined if no link has these endpoints. `a` is the quality of packets that leave the first
 * of `endpoints`, in the intent's order or the opposite. Without any quality the field is removed.
 */
export function withQuality(
  links: readonly unknown[] | undefined,
  endpoints: readonly string[],
  { a, b }: { readonly a: LinkQuality | undefined; readonly b: LinkQuality | undefined },
): readonly unknown[] | undefined {
  let found = false;
  const changed = (links ?? []).map((link) => {
    const ends = endsOf(link);
    const sameOrder = ends[0] === endpoints[0] && ends[1] === endpoints[1];
    if (!sameOrder && !(ends[0] === endpoints[1] && ends[1] === endpoints[0])) return link;
    found = true;
    const [first, second] = sameOrder ? [a, b] : [b, a];
    const { quality: _before, ...rest } = Array.isArray(link) ? { endpoints: link } : (link as Readonly<Record<string, unknown>>);
    if (first === undefined && second === undefined) return rest;
    return { ...rest, quality: { ...(first !== undefined && { a: first }), ...(second !== undefined && { b: second }) } };
  });
  return found ? changed : undefined;
}

/** Returns the two ends of a link in short or long form: "r1:eth1", or a network's key. */
function endsOf(link: unknown): readonly string[] {
  const endpoints = Array.isArray(link) ? link : (link as { readonly endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints)) return [];
  return endpoints.map((end: unknown) => {
    if (typeof end === "string") return end;
    const { node, interface: name } = end as { readonly node?: unknown; readonly interface?: unknown };
    return `${node}:${name}`;
  });
}
