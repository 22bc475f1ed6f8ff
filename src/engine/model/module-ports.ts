import type { Scalar } from "../../intent/lab/lab.ts";
import type { ModuleRule } from "./plan.ts";

/** Returns the names of the interfaces of a node's modules, by slot and port. */
export function modulePorts(attributes: Readonly<Record<string, Scalar>>, { attribute, kinds }: ModuleRule): readonly string[] {
  return Object.entries(attributes).flatMap(([name, value]) => {
    const slot = name.startsWith(attribute) ? /^\d{1,3}$/.exec(name.slice(attribute.length))?.[0] : undefined;
    const module = String(value);
    const kind = slot !== undefined && Object.hasOwn(kinds, module) ? kinds[module] : undefined;
    return Array.from({ length: kind?.ports ?? 0 }, (_, port) => `${kind?.prefix}${slot}/${port}`);
  });
}
