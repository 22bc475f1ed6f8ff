import type { Operation, Step } from "../../../engine/model/plan.ts";
import type { Progress } from "../../host.ts";
import type { StepLog } from "../../host-batches.ts";
import { adminText } from "../binds/check-binds.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { refuseUsedSubnet } from "../management/management.ts";
import { isReserved, reservedText } from "../reach/check-ports.ts";
import { vmOf } from "../templates/vm-template.ts";
import { refuseTakenVni, tunnelRefusal } from "../tunnels/tunnel-refusal.ts";
import type { ApplyContext } from "./context.ts";
import { withProgress } from "./step-error.ts";

/**
 * Refuses VMs with settings that no VM can have, and ports, networks and paths of the machine that only an admin may choose, before the first step: otherwise
 * half of the lab would be made. Those that the lab already has stay allowed.
 */
export async function refuseImpossible(context: ApplyContext, operations: readonly Operation[], log: StepLog): Promise<void> {
  const { catalogue, refuseUnlessAdmin } = context;
  const before = await context.definitions.get(context.path);
  const known = [before?.management?.ipv4Subnet, before?.management?.ipv6Subnet];
  const publishes = new Set(before?.nodes.flatMap(({ name, ports }) => (ports ?? []).map((port) => `${name} ${port}`)));
  const bound = new Set(before?.nodes.flatMap(({ name, binds }) => (binds ?? []).map((text) => `${name} ${text}`)));
  for (const { step } of operations) {
    const { ipv4Subnet, ipv6Subnet } = managementOf(step) ?? {};
    try {
      for (const subnet of [ipv4Subnet, ipv6Subnet]) {
        if (subnet === undefined || subnet === "auto") continue;
        if (!known.includes(subnet))
          refuseUnlessAdmin(`the management network ${subnet}: only an admin chooses it; management: true gives the lab a free one`);
        await refuseUsedSubnet(subnet, before?.id);
      }
    } catch (error) {
      throw withProgress(error, log);
    }
    try {
      await refuseTunnel(context, step, before);
    } catch (error) {
      throw withProgress(error, log);
    }
    if (step.do !== "create-node" && step.do !== "update-node") continue;
    const template = catalogue.template(step.node.template);
    try {
      if (template?.backend === "vm") vmOf(template, step.node);
      const fresh = (step.node.binds ?? []).filter((text) => !bound.has(`${step.node.name} ${text}`));
      if (fresh[0] !== undefined) refuseUnlessAdmin(adminText(step.node.name, fresh[0]));
      await context.binds.check(before?.owner ?? context.user, step.node.name, fresh);
      for (const text of step.node.ports ?? []) {
        if (isReserved(text) && !publishes.has(`${step.node.name} ${text}`)) refuseUnlessAdmin(reservedText(step.node.name, text));
      }
    } catch (error) {
      throw withProgress(error, log);
    }
  }
}

/** Refuses a tunnel that the administrator does not allow, or whose number another lab has. */
async function refuseTunnel({ catalogue, definitions }: ApplyContext, step: Step, before: LabDefinition | undefined): Promise<void> {
  if ((step.do !== "create-network" && step.do !== "update-network") || step.network.vxlan === undefined) return;
  const { name, vxlan } = step.network;
  const refusal = tunnelRefusal({ name, vxlan }, catalogue.rules.tunnels);
  if (refusal !== undefined) throw refusal;
  // The fleet has given its number to this lab alone.
  if (vxlan.cut !== undefined) return;
  refuseTakenVni(vxlan, before?.id, await definitions.all());
}

/** Returns the management network that the step gives the lab. */
function managementOf(step: Step): LabDefinition["management"] | undefined {
  if (step.do === "create-lab") return step.lab.management;
  return step.do === "update-lab" ? (step.management ?? undefined) : undefined;
}

/** Warns of the running virtual machines of a lab that gets a management network whose guests may take a new interface at their next start only. */
export async function warnUnmanaged({ path, definitions, catalogue }: ApplyContext, operations: readonly Operation[], progress: Progress) {
  const before = await definitions.get(path);
  if (before === undefined || before.management !== undefined) return;
  if (!operations.some(({ step }) => managementOf(step) !== undefined)) return;
  for (const { name, template, power } of before.nodes) {
    const found = catalogue.template(template);
    if (found?.backend !== "vm" || found.fields["ethernet"] === "live" || power !== "running") continue;
    const message = `${name} is a running virtual machine: its guest may see its interface in the management network at its next start only`;
    progress.warn?.({ code: "no_management_interface", node: name, message });
  }
}
