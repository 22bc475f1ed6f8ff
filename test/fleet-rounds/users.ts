import { type LabwrightClient, LabwrightError } from "../../src/client/index.ts";
import type { Random } from "../abuse/random.ts";

/** A lab of a user, with the answers that the user got. */
export interface UsedLab {
  readonly path: string;
  readonly name: string;
  /** Version of the text whose change the service has confirmed. */
  confirmed: number;
  /** Newest version that was sent. */
  sent: number;
}

/** Errors that users may get while machines and the database fail. After each of them nothing has changed, or its message states that the outcome is unknown. */
const expected: ReadonlySet<string> = new Set([
  "machine_unreachable",
  "store_unavailable",
  "lab_busy",
  "lab_elsewhere",
  "cancelled",
  // The client has no connection to the machine.
  "host_unreachable",
  "host_timeout",
]);

/** A text of a lab. Odd versions have a node more. */
export function textOf({ name }: Pick<UsedLab, "name">, version: number, nodes: number): string {
  const count = nodes + (version % 2);
  const node = (index: number) => `  h${index}: {template: linux}\n`;
  const links = Array.from({ length: nodes - 1 }, (_, index) => `  - [h${index}:eth0, h${index + 1}:eth1]\n`).join("");
  return `# version ${version}\nname: ${name}\nnodes:\n${Array.from({ length: count }, (_, index) => node(index)).join("")}links:\n${links}`;
}

/** Users who work on their labs through any of the machines, until they pause. */
export class Users {
  readonly labs: readonly UsedLab[];
  /** Answers by code. */
  readonly answers = new Map<string, number>();
  readonly unexpected: string[] = [];
  readonly #clients: readonly LabwrightClient[];
  readonly #nodes: number;
  #isPaused = true;
  #working: Promise<unknown> = Promise.resolve();

  constructor(clients: readonly LabwrightClient[], { labs, nodes }: { readonly labs: number; readonly nodes: number }) {
    this.#clients = clients;
    this.#nodes = nodes;
    this.labs = Array.from({ length: labs }, (_, index) => ({ path: `/lab${index}`, name: `lab${index}`, confirmed: 0, sent: 0 }));
  }

  /** Deploys all labs, some at a time. */
  async deployAll(atOnce: number): Promise<void> {
    const left = [...this.labs];
    const one = async (client: LabwrightClient) => {
      for (let lab = left.pop(); lab !== undefined; lab = left.pop()) {
        lab.sent = 2;
        await client.deployProject({ yaml: textOf(lab, 2, this.#nodes) });
        lab.confirmed = 2;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, index) => one(this.#clients[index % this.#clients.length]!)));
  }

  /** @param randoms one for each user */
  begin(randoms: readonly Random[]): void {
    this.#isPaused = false;
    const users = randoms.length;
    this.#working = Promise.all(
      randoms.map(async (random, user) => {
        const own = this.labs.filter((_, index) => index % users === user);
        while (!this.#isPaused && own.length > 0) await this.#act(random, random.pick(own));
      }),
    );
  }

  /** Resolves when each call has an answer. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#working;
  }

  async #act(random: Random, lab: UsedLab): Promise<void> {
    const client = random.pick(this.#clients);
    const action = random.weighted({ status: 4, list: 1, change: 3, plan: 2 });
    const calls = {
      status: () => client.getProjectStatus({ lab: lab.path }),
      list: () => client.listLabs({}),
      plan: () => client.planProject({ yaml: textOf(lab, lab.sent + 1, this.#nodes) }),
      change: async () => {
        const version = lab.sent + 1;
        lab.sent = version;
        await client.reconcileProject({ yaml: textOf(lab, version, this.#nodes) });
        lab.confirmed = version;
      },
    };
    const code = await calls[action]().then(
      () => "ok",
      (error: unknown) => {
        const found = error instanceof LabwrightError ? (error.code ?? "no code") : String(error);
        if (!expected.has(found)) this.unexpected.push(`${action} of ${lab.path}: ${found}: ${(error as Error).message}`);
        return found;
      },
    );
    this.answers.set(code, (this.answers.get(code) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, 100 + random.int(900)));
  }
}
