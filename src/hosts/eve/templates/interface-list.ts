import type { EveAccount } from "../account/account.ts";
import { entriesOf, recordOf, textOf } from "../api/answer.ts";
import type { UnlNode } from "../lab-file/unl.ts";
import { type EveInterface, indexed, interfacesOf } from "./interface-shape.ts";

/**
 * The interfaces of nodes with the host's names. They depend only on template, type, counts and slots: for each combination, one node is read once.
 */
export class InterfaceLists {
  readonly #known = new Map<string, readonly EveInterface[]>();

  /** Returns the interfaces from the host's list, or the expected ones of the template if no such node was read yet. */
  of(node: UnlNode): readonly EveInterface[] {
    return this.#known.get(kindOf(node)) ?? interfacesOf(node);
  }

  /** Reads the kinds that are new. @param url of the lab, below /api/labs */
  async learn(account: EveAccount, url: string, nodes: readonly UnlNode[]): Promise<void> {
    const missing = new Map(nodes.flatMap((node) => (this.#known.has(kindOf(node)) ? [] : [[kindOf(node), node] as const])));
    await Promise.all(
      [...missing].map(async ([kind, node]) => {
        const data = await account.get(
          `/api/labs${url}/nodes/${node.id}/interfaces`,
          `list the interfaces of node ${node.name ?? node.id}`,
        );
        this.#known.set(kind, readInterfaces(node, data));
      }),
    );
  }
}

function readInterfaces(node: UnlNode, data: unknown): readonly EveInterface[] {
  const listed = (["ethernet", "serial"] as const).flatMap((type) =>
    entriesOf(recordOf(data)[type]).map(([id, one]) => ({ id: Number(id), name: textOf(recordOf(one).name) ?? `${type}${id}`, type })),
  );
  return indexed(node.type ?? "qemu", listed);
}

function kindOf({ template, type, ethernet, serial, slots }: UnlNode): string {
  return JSON.stringify([template, type, ethernet, serial, (slots ?? []).map(({ id, module }) => [id, module])]);
}
