import { Failure } from "../../../contract/errors.ts";
import { tunnelProblem } from "../../../engine/effects/tunnels.ts";
import type { TunnelRules } from "../../../engine/model/plan.ts";
import { vxlanPort } from "../../../intent/lab/lab.ts";
import type { DefinedNetwork, LabDefinition } from "../definitions/definition.ts";
import { takenVni } from "./tunnels.ts";

/** How an administrator allows tunnels. */
export const howToAllow = "labwright serve --vxlan-local ADDRESS --vxlan-remote NETWORK, as root, allows tunnels to other machines";

/** Returns why the network can have no tunnel; `undefined` if it can, or has none. */
export function tunnelRefusal(
  { name, vxlan }: Pick<DefinedNetwork, "name" | "vxlan">,
  rules: TunnelRules | undefined,
): Failure | undefined {
  if (vxlan === undefined || vxlan.cut !== undefined) return undefined;
  const why = rules === undefined ? `this service makes none: ${howToAllow}` : tunnelProblem(vxlan, rules)?.text;
  return why === undefined ? undefined : new Failure("operation_not_allowed", `network ${name}: ${why}`);
}

/** Throws host_error if a network of another lab, which may be stopped, has the number. */
export function refuseTakenVni(
  { vni, port = vxlanPort }: NonNullable<DefinedNetwork["vxlan"]>,
  lab: string | undefined,
  all: readonly LabDefinition[],
): void {
  const isTaken = all.some(
    ({ id, networks }) => id !== lab && networks.some(({ vxlan }) => vxlan?.vni === vni && (vxlan.port ?? vxlanPort) === port),
  );
  if (isTaken) throw takenVni({ vni, port });
}
