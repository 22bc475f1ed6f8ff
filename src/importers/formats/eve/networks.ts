import type { LinkedInterface, LinkedLab, LinkedNetwork } from "../../../formats/unl/links.ts";
import type { Part } from "../../tree/part.ts";

export interface EveInterface {
  readonly id: number;
  readonly part: Part;
}

/** The elements of a lab file, by their ids. Of repeated ids the first counts. */
export interface EveLab {
  readonly nodes: ReadonlyMap<number, { readonly part: Part; readonly interfaces: ReadonlyMap<number, EveInterface> }>;
  readonly networks: ReadonlyMap<number, Part>;
}

export function integer(part: Part | undefined): number | undefined {
  const number = part?.number;
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

export function eveLab(nodes: readonly Part[], networks: readonly Part[]): EveLab {
  return {
    nodes: byId(nodes, (part) => ({
      part,
      interfaces: byId(part.get("interface")?.items ?? [], (face, id) => ({ id, part: face })),
    })),
    networks: byId(networks, (part) => part),
  };
}

function byId<T>(parts: readonly Part[], make: (part: Part, id: number) => T): ReadonlyMap<number, T> {
  const found = new Map<number, T>();
  for (const part of parts) {
    const id = integer(part.get("@id"));
    if (id === undefined) part.dropped("it has no id");
    else if (found.has(id)) part.dropped("another one has the same id");
    else found.set(id, make(part, id));
  }
  return found;
}

/** Returns the part of the lab that connects interfaces, as the driver of EVE-NG reads it. */
export function linkedLab({ nodes, networks }: EveLab): LinkedLab {
  const number = <Name extends string>(name: Name, value: number | undefined) =>
    (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: number };
  return {
    nodes: [...nodes].map(([id, node]) => ({
      id,
      interfaces: [...node.interfaces].map(
        ([face, { part }]): LinkedInterface => ({
          id: face,
          ...number("network_id", integer(part.get("@network_id"))),
          ...number("remote_id", integer(part.get("@remote_id"))),
          ...number("remote_if", integer(part.get("@remote_if"))),
        }),
      ),
    })),
    networks: [...networks].map(
      ([id, part]): LinkedNetwork => ({
        id,
        type: part.get("@type")?.text ?? "bridge",
        ...number("visibility", integer(part.get("@visibility"))),
      }),
    ),
  };
}
