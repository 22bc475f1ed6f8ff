import { SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { shortage } from "../../../engine/plan/admission.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeNeed, switchingNeed } from "../templates/node-needs.ts";

/**
 * The memory that is still available for nodes. A running node counts with its definition. A starting node counts with its reservation, from
 * its admission until its start ends, so that two starts never get the same memory.
 */
export class Admission {
  readonly #definitions: Pick<Definitions, "all">;
  readonly #free: (promised: number) => Promise<number>;
  /** `<lab>/<node>` → number of starts that reserve its memory. */
  readonly #held = new Map<string, number>();
  readonly #queue = new SerialQueue();

  /** @param free returns the MiB that are still available if `promised` MiB are in use */
  constructor(definitions: Pick<Definitions, "all">, free: (promised: number) => Promise<number>) {
    this.#definitions = definitions;
    this.#free = free;
  }

  /** Returns the MiB that are available for further nodes: the machine's memory minus the memory of all running and starting nodes. */
  async room(catalogue: Catalogue): Promise<number> {
    let promised = 0;
    for (const lab of await this.#definitions.all()) {
      const using = this.#using(lab);
      promised += using.reduce((sum, node) => sum + nodeNeed(node, catalogue.template(node.template)), 0);
      if (using.some(isVlanAware)) promised += switchingNeed;
    }
    return this.#free(promised);
  }

  /**
   * Reserves the memory of these stopped nodes of the lab. The caller disposes of the reservation when the definition has them as running, or when
   * their start has failed. Throws host_error with the needed and the available memory if they do not fit.
   */
  admit(lab: LabDefinition["id"], starting: readonly DefinedNode[], catalogue: Catalogue): Promise<Disposable> {
    return this.#queue.run(async () => {
      const definition = (await this.#definitions.all()).find(({ id }) => id === lab);
      // All VLAN-aware switches of a lab are in one pair of daemons, which runs already with the first of them.
      const startsDaemons = starting.some(isVlanAware) && !(definition !== undefined && this.#using(definition).some(isVlanAware));
      const nodes = starting.reduce((sum, node) => sum + nodeNeed(node, catalogue.template(node.template)), 0);
      const needs = nodes + (startsDaemons ? switchingNeed : 0);
      if (needs > 0) {
        const free = await this.room(catalogue);
        if (needs > free) {
          const message = shortage(needs, free);
          throw new Failure("host_error", message, { data: { host: { message, needs_mib: needs, free_mib: free } } });
        }
      }
      const keys = starting.map((node) => keyOf(lab, node));
      for (const key of keys) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
      return { [Symbol.dispose]: () => this.#release(keys) };
    });
  }

  /** Returns the nodes of the lab that run or start. */
  #using({ id, nodes }: LabDefinition): readonly DefinedNode[] {
    return nodes.filter((node) => node.power !== "stopped" || this.#held.has(keyOf(id, node)));
  }

  #release(keys: readonly string[]): void {
    for (const key of keys) {
      const left = (this.#held.get(key) ?? 0) - 1;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    }
  }
}

function isVlanAware({ switching }: DefinedNode): boolean {
  return switching !== undefined;
}

function keyOf(lab: string, { id }: DefinedNode): string {
  return `${lab}/${id}`;
}
