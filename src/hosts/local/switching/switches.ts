import { Failure } from "../../../contract/errors.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Trash } from "../files/trash.ts";
import type { LabResources } from "../resources/lab-resources.ts";
import { type NodeState, type Sandbox, switchingNode } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { readSwitches, runBeside } from "./read-switches.ts";
import { switchCommands } from "./switch-commands.ts";
import { startSwitching } from "./switching-node.ts";
import { type WantedSwitch, wantedSwitches } from "./wanted-switches.ts";

/** The VLAN-aware switches of one lab: one pair of daemons of Open vSwitch, a bridge for each switch. */
export class Switches {
  readonly #directory: string;
  readonly #means: { readonly resources: LabResources; readonly trash: Trash };
  /** Whether Open vSwitch may run: an earlier run of the service may have started it. */
  #mayRun = true;

  /** @param directory `<state>/labs/<id>` */
  constructor(directory: string, means: { readonly resources: LabResources; readonly trash: Trash }) {
    this.#directory = directory;
    this.#means = means;
  }

  /**
   * Starts Open vSwitch if a switch needs it, and ends it if none does. Throws host_error.
   * @param states returns the states of the sandbox; not called for a lab without VLAN-aware switches
   * @returns whether it was started just now
   */
  async ensure(
    sandbox: Sandbox,
    definition: LabDefinition,
    catalogue: Catalogue,
    states: () => Promise<ReadonlyMap<number, NodeState>>,
  ): Promise<boolean> {
    const isNeeded = wantedSwitches(definition, catalogue.template).length > 0;
    if (!isNeeded && !this.#mayRun) return false;
    const runs = ((await states()).get(switchingNode)?.pid ?? 0) > 0;
    this.#mayRun = isNeeded;
    if (runs && !isNeeded) await sandbox.stop([switchingNode], "kill", 0);
    if (runs || !isNeeded) return false;
    await startSwitching(sandbox, this.#directory, this.#means, catalogue);
    return true;
  }

  /**
   * Makes the bridges and ports what the definition asks for. Throws host_error if Open vSwitch refuses it or does not answer.
   * @param remade devices that were made since the last call
   */
  async configure(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue, remade: ReadonlySet<string>): Promise<void> {
    const wanted = wantedSwitches(definition, catalogue.template);
    if (wanted.length === 0) return;
    for (const commands of switchCommands(wanted, await readSwitches(sandbox), remade)) {
      const words = commands.flatMap((command) => ["--", ...command]);
      const { stderr } = await runBeside(sandbox, ["ovs-vsctl", "--timeout=25", ...words]);
      const [, device = "", problem = ""] = /Error detected while setting up '([^']*)': (.*)/.exec(stderr) ?? [];
      if (device !== "") throw refusedPort(definition, wanted, device, problem);
    }
  }
}

/** Returns the failure of a port that Open vSwitch could not open. */
function refusedPort({ nodes }: LabDefinition, wanted: readonly WantedSwitch[], device: string, problem: string): Failure {
  const places = wanted.flatMap(({ node, ports }) => ports.flatMap(({ interfaces }) => interfaces.map((one) => ({ ...one, node }))));
  const place = places.find((one) => one.device === device);
  const port = place === undefined ? device : `${nodes.find(({ id }) => id === place.node)?.name}:${place.label}`;
  const words = problem.split(/\.\s/)[0] ?? "";
  const many = "a lab's switches have about 200 ports together: use fewer links, or networks in place of switches";
  const message = `Open vSwitch could not open ${port}: ${words}; ${many}`;
  return new Failure("host_error", message, { data: { host: { message: words } } });
}
