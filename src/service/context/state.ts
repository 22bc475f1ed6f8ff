import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Host, NativeIds } from "../../hosts/host.ts";

/** Maps intent keys to native objects. Clients store it and send it back unchanged. */
export interface ProjectState {
  readonly version: 1;
  readonly serial: number;
  readonly host: { readonly kind: string; readonly url: string };
  readonly lab: { readonly path: string; readonly id: string };
  readonly nodes: Readonly<Record<string, { readonly id: string; readonly name: string }>>;
  readonly networks: Readonly<Record<string, { readonly id: string; readonly name: string }>>;
  readonly links: Readonly<Record<string, { readonly id: string }>>;
}

export function projectState(host: Host, serial: number, observed: ObservedLab, ids: NativeIds): ProjectState {
  // A node and a network of one host may have the same id.
  const named = (record: Readonly<Record<string, string>>, objects: readonly { readonly id: string; readonly name: string }[]) => {
    const names = new Map(objects.map(({ id, name }) => [id, name]));
    return Object.fromEntries(sorted(record).map(([key, id]) => [key, { id, name: names.get(id) ?? key }]));
  };
  return {
    version: 1,
    serial,
    host: { kind: host.kind, url: host.url },
    lab: { path: observed.path, id: observed.id },
    nodes: named(ids.nodes, observed.nodes),
    networks: named(ids.networks, observed.networks),
    links: Object.fromEntries(sorted(ids.links).map(([key, id]) => [key, { id }])),
  };
}

/** Returns the ids in a client's state. Throws bad_request for a state of another lab or host, or of an unknown version. */
export function stateIds(value: unknown, host: Host, path: string): NativeIds {
  const wrong = (at: string, message: string) =>
    new Failure("bad_request", `state: ${message}`, { data: { problems: [{ path: `/state${at}`, message }] } });
  if (!isMap(value)) throw wrong("", "send the state object that the service returned");
  if (value["version"] !== 1)
    throw wrong("/version", `version ${JSON.stringify(value["version"])} is not supported; this release reads version 1`);
  const { host: stateHost, lab } = value;
  if (!isMap(stateHost) || stateHost["kind"] !== host.kind || stateHost["url"] !== host.url)
    throw wrong("/host", "the state belongs to another host");
  if (!isMap(lab) || lab["path"] !== path) throw wrong("/lab", "the state belongs to another lab");
  const ids = (part: "nodes" | "networks" | "links"): Readonly<Record<string, string>> => {
    const entries = value[part];
    if (!isMap(entries)) throw wrong(`/${part}`, "an object is expected");
    return Object.fromEntries(
      Object.entries(entries).map(([key, entry]) => {
        if (!isMap(entry) || typeof entry["id"] !== "string") throw wrong(`/${part}`, `${JSON.stringify(key)} has no id`);
        return [key, entry["id"]];
      }),
    );
  };
  return { nodes: ids("nodes"), networks: ids("networks"), links: ids("links") };
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(record: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}
