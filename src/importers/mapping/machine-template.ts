import type { KnownTemplates } from "../../intent/places/known-templates.ts";

/** The facts of a template of virtual machines that an import needs. */
export interface MachineTemplate {
  readonly id: string;
  /** Format of its interface names (base/names/interface-names.ts). */
  readonly format: string;
  readonly maxInterfaces: number;
  readonly startupConfig: boolean;
}

/** Finds a template of virtual machines by its id. */
export type MachineOf = (id: string) => MachineTemplate | undefined;

/** The template of machines that no other template knows. */
export const genericMachine: MachineTemplate = { id: "qemu", format: "eth{0}", maxInterfaces: 23, startupConfig: true };

/** Returns a function that finds templates of virtual machines among template files. */
export function machinesOf({ find }: KnownTemplates): MachineOf {
  return (id) => {
    const found = find(id);
    return found?.machine === true ? found : undefined;
  };
}
