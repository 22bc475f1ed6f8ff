import type { EveAccount } from "../account/account.ts";
import { entriesOf, recordOf, textOf } from "../api/answer.ts";
import type { UnlNode } from "../lab-file/unl.ts";
import { type EveInterface, indexed, interfacesOf } from "./interface-shape.ts";

/**
 * The interfaces of nodes as the host names them. They follow from template, counts and slots alone, so one node of each kind is asked for,
 * once.
 */
export class InterfaceLists {
  readonly #known = new Map<string, readonly EveInterface[]>();

  /** As the host listed them, or as the template is expected to make them where it was not asked yet. */
  of(node: UnlNode): readonly EveInterface[] {
    return this.#known.get(kindOf(node)) ?? interfacesOf(node);
  }

  /** Asks for those kinds that are new. @param url of the lab, below /api/labs */
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
