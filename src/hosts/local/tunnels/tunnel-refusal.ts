import { Failure } from "../../../contract/errors.ts";
import { tunnelProblem } from "../../../engine/effects/tunnels.ts";
import type { TunnelRules } from "../../../engine/model/plan.ts";
import { spreadVnis, vxlanPort } from "../../../intent/lab/lab.ts";
import type { DefinedNetwork, LabDefinition } from "../definitions/definition.ts";
import { takenVni } from "./tunnels.ts";

/** How an administrator allows tunnels. */
export const howToAllow = "labwright serve --vxlan-local ADDRESS --vxlan-remote NETWORK, as root, allows tunnels to other machines";

/** Returns why the network can have no tunnel; `undefined` if it can, or has none. */
export function tunnelRefusal(
  { name, vxlan }: Pick<DefinedNetwork, "name" | "vxlan">,
  rules: TunnelRules | undefined,
): Failure | undefined {
  if (vxlan === undefined) return undefined;
  if (vxlan.cut !== undefined) return halfRefusal(name, vxlan);
  const why = rules === undefined ? `this service makes none: ${howToAllow}` : tunnelProblem(vxlan, rules)?.text;
  return why === undefined ? undefined : new Failure("operation_not_allowed", `network ${name}: ${why}`);
}

/**
 * Returns why the network is not half of a link between machines of a fleet. A half is exempt from the administrator's rules for tunnels of users, and must not get
 * a number of theirs. A definition that was changed by hand may claim to be one.
 */
function halfRefusal(name: string, { vni, port }: NonNullable<DefinedNetwork["vxlan"]>): Failure | undefined {
  const { first, last } = spreadVnis;
  if (vni >= first && vni <= last && (port === undefined || port === vxlanPort)) return undefined;
  const numbers = `links between machines of a fleet have the VNIs ${first} to ${last} at port ${vxlanPort}`;
  return new Failure("operation_not_allowed", `network ${name}: ${numbers}, and not VNI ${vni}: remove "cut" from its vxlan in lab.json`);
}

/** Returns why the machine can have no halves of links. */
export function noUnderlay({ name }: Pick<DefinedNetwork, "name">): Failure {
  return new Failure(
    "operation_not_allowed",
    `network ${name}: this machine has no address for links between machines: labwright serve --underlay ADDRESS, as root, in a fleet`,
  );
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
