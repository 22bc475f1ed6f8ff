import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { HostDisks, HostDiskTransfers } from "../../host-disks.ts";
import type { LocalUser } from "../accounts/users.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { KeptLab } from "../definitions/kept-labs.ts";
import { diskUsage } from "../watches/disk-usage.ts";

/** Limit for counting the size of disks, ms. Disks that are not counted by then are reported as 0 bytes. */
const countMs = 10_000;

/** @param exclusive runs one change of a lab at a time */
export function localDisks(
  {
    definitions,
    exclusive,
  }: { readonly definitions: Definitions; readonly exclusive: <T>(path: string, work: () => Promise<T>) => Promise<T> },
  { name, role }: LocalUser,
  transfers: HostDiskTransfers,
): HostDisks {
  const seen = (): readonly KeptLab[] => definitions.kept.list().filter(({ definition: { owner } }) => role === "admin" || owner === name);
  return {
    transfers,
    list: async () => {
      const all = seen();
      const directory = (lab: string, node: number) => join(definitions.directory(lab), "nodes", String(node));
      const directories = all.flatMap(({ definition: { id, nodes } }) => nodes.map((node) => directory(id, node.id)));
      const used = await diskUsage(directories, AbortSignal.timeout(countMs));
      return all.map(({ definition: { id, path, owner, nodes }, keptAt }) => ({
        id,
        lab: path,
        owner,
        keptAt,
        nodes: nodes
          .map((node) => ({ name: node.name, bytes: used.get(directory(id, node.id)) ?? 0 }))
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
      }));
    },
    remove: async (id) => {
      const missing = () => new Failure("disks_not_found", `there are no kept disks ${id}`);
      const found = seen().find(({ definition }) => definition.id === id);
      if (found === undefined) throw missing();
      if (role === "viewer") throw new Failure("operation_not_allowed", "a viewer cannot change anything");
      await exclusive(found.definition.path, async () => {
        // A new lab may have taken the disks meanwhile.
        if (!seen().some(({ definition }) => definition.id === id)) throw missing();
        await definitions.kept.remove(id);
      });
    },
  };
}
