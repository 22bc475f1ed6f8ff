import type { LabDefinition } from "../definitions/definition.ts";
import type { HostsFile } from "./hosts-file.ts";
import { managementAddresses } from "./management.ts";

/** Puts the names NODE.LAB of nodes with a management address into the machine's hosts file, while their lab runs. */
export interface LabNames {
  /** Never throws: names that cannot be written are a warning. */
  set(directory: string, lab: LabDefinition): Promise<void>;
  remove(lab: string): Promise<void>;
}

/** @param isAdmin returns whether this user is an admin: only their labs get names, because names apply to all programs of the machine */
export function labNames(file: HostsFile, isAdmin: (user: string) => Promise<boolean>): LabNames {
  return {
    async set(directory, lab) {
      if (lab.management === undefined || !(await isAdmin(lab.owner))) return file.remove(lab.id);
      const addresses = await managementAddresses(directory, lab);
      const domain = lab.path.split("/").at(-1) ?? lab.name;
      const named = lab.nodes.flatMap(({ id, name }) =>
        (addresses.get(id) ?? []).map((address) => ({ name: `${name}.${domain}`, address: address.replace(/\/.*/, "") })),
      );
      await file.set(lab.id, named);
    },
    remove: (lab) => file.remove(lab),
  };
}
