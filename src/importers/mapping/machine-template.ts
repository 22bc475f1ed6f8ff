import type { KnownTemplates } from "../../intent/places/known-templates.ts";

/** The facts of a template of virtual machines, or of software in container images, that an import needs. */
export interface MachineTemplate {
  readonly id: string;
  /** Its nodes are containers. */
  readonly isContainer?: boolean;
  /** Format of its interface names (base/names/interface-names.ts). */
  readonly format: string;
  readonly maxInterfaces: number;
  readonly startupConfig: boolean;
}

/** Finds a template of virtual machines or of software in container images by its id. */
export type MachineOf = (id: string) => MachineTemplate | undefined;

/** The template of machines that no other template knows. */
export const genericMachine: MachineTemplate = { id: "qemu", format: "eth{0}", maxInterfaces: 23, startupConfig: true };

/** Returns a function that finds these templates among template files. Template container, which is for any software, is none of them. */
export function machinesOf({ find }: KnownTemplates): MachineOf {
  return (id) => {
    const found = find(id);
    return found?.machine === true || (found?.isContainer === true && found.id !== "container") ? found : undefined;
  };
}
