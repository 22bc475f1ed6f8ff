import type { LabwrightClient } from "../src/client/index.ts";
import { ringYaml } from "./ring.ts";
import { startService } from "./service.ts";

/** The duration of each call for the client, ms. */
export interface ChangeTimes {
  /** The first quality of a link without one: the change adds the shaper or netem. */
  readonly firstQuality: readonly number[];
  /** Other values for a link with a quality. */
  readonly quality: readonly number[];
  /** The removal of a link's quality. */
  readonly clearQuality: readonly number[];
  readonly suspend: readonly number[];
  readonly addLink: readonly number[];
}

/** The number of links that get a quality, one after the other. */
const links = 40;
const reconciles = 15;

/** Measures changes of one link in two running labs of one service, alternately, so that both have the same load of the machine. */
export async function changeTimes(small: number, large: number): Promise<readonly [ChangeTimes, ChangeTimes]> {
  const service = await startService("embedded");
  try {
    const labs = [small, large].map((count) => new ChangedLab(service.client, count));
    for (const lab of labs) await service.client.deployProject({ yaml: lab.yaml });
    for (const lab of labs) await lab.change(-1);
    for (const lab of labs) lab.forget();
    for (let round = 0; round < links; round++) for (const lab of labs) await lab.change(round);
    for (let round = 0; round < reconciles; round++) for (const lab of labs) await lab.addLink(round);
    return [labs[0]!.times, labs[1]!.times];
  } finally {
    await service.close();
  }
}

class ChangedLab {
  readonly yaml: string;
  times = emptyTimes();
  readonly #client: LabwrightClient;
  readonly #count: number;

  constructor(client: LabwrightClient, count: number) {
    this.#client = client;
    this.#count = count;
    this.yaml = ringYaml(count, 3);
  }

  forget(): void {
    this.times = emptyTimes();
  }

  /** Sets, changes and removes the quality of one link, and suspends and resumes it. Each round uses another link. */
  async change(round: number): Promise<void> {
    const lab = `/ring${this.#count}`;
    const n = (round + 1) % this.#count;
    const endpoints: [string, string] = [`n${n}:eth0`, `n${(n + 1) % this.#count}:eth1`];
    const shape = (delay: number) => {
      const side = { delay, jitter: 0, loss: 0, bandwidth: 0 };
      return timed(() => this.#client.applyLinkQuality({ lab, endpoints, a: side, b: side, save: false }));
    };
    const { firstQuality, quality, clearQuality, suspend } = this.times;
    firstQuality.push(await shape(1));
    quality.push(await shape(2));
    clearQuality.push(await timed(() => this.#client.applyLinkQuality({ lab, endpoints, save: false })));
    suspend.push(await timed(() => this.#client.setLinkSuspend({ lab, endpoints, suspended: true })));
    suspend.push(await timed(() => this.#client.setLinkSuspend({ lab, endpoints, suspended: false })));
  }

  /** Measures a reconcile of the whole intent with one additional link. */
  async addLink(round: number): Promise<void> {
    const lab = `/ring${this.#count}`;
    const links = Array.from({ length: round + 1 }, (_, i) => `  - ["n${2 * i}:eth2", "n${2 * i + 1}:eth2"]\n`);
    const yaml = this.yaml + links.join("");
    this.times.addLink.push(
      await timed(async () => {
        const { applied } = await this.#client.reconcileProject({ lab, yaml });
        if (applied !== 1) throw new Error(`a link more made ${applied} steps`);
      }),
    );
  }
}

function emptyTimes(): { readonly [field in keyof ChangeTimes]: number[] } {
  return { firstQuality: [], quality: [], clearQuality: [], suspend: [], addLink: [] };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
