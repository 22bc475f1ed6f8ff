import type { Sandbox } from "../sandbox/sandbox.ts";
import { supervisor } from "../templates/vm-template.ts";
import { GuestAgent } from "./guest-agent.ts";
import { agentSocket } from "./vm-config.ts";

/** The guest agents of a lab's virtual machines. */
export class GuestAgents {
  readonly #agents = new Map<number, GuestAgent>();

  of(sandbox: Pick<Sandbox, "join">, node: number): GuestAgent {
    const known = this.#agents.get(node);
    if (known !== undefined) return known;
    const agent = new GuestAgent(() => sandbox.join(node, [supervisor, "relay", agentSocket]));
    this.#agents.set(node, agent);
    return agent;
  }

  /** Forgets all agents: their sandbox has ended. */
  clear(): void {
    this.#agents.clear();
  }
}
