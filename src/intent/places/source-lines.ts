import { Lines } from "../diagnostics/lines.ts";
import { readDocument } from "../read/read.ts";

/** Lines (from 1) of an intent's resources, by kind and key. */
export interface SourceLines {
  readonly nodes: ReadonlyMap<string, number>;
  readonly networks: ReadonlyMap<string, number>;
  /** By link key. */
  readonly links: ReadonlyMap<string, number>;
}

/** Returns the line of each node, network and link. A text that cannot be read has none. */
export function sourceLines(yaml: string, files: Readonly<Record<string, string>>): SourceLines {
  const { reading } = readDocument(yaml, files);
  const lines = new Lines(yaml);
  const line = (place: { readonly start: number }) => lines.position(place.start).line;
  return {
    nodes: new Map([...(reading?.nodes ?? [])].map(([key, { entry }]) => [key, line(entry.place)])),
    networks: new Map([...(reading?.networks ?? [])].map(([key, { entry }]) => [key, line(entry.place)])),
    links: new Map((reading?.links ?? []).map(({ link, value }) => [link.key, line(value)])),
  };
}
