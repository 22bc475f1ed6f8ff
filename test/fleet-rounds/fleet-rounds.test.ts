import { expect, test } from "vitest";
import { noMachines } from "../machines.fixture.ts";
import { seedOf } from "../seed.ts";
import { fleetRounds } from "./fleet-rounds.ts";

test.skipIf(noMachines)(
  "a fleet whose machines, network and database fail under load loses no lab, and has none twice",
  { timeout: 600_000 },
  async () => {
    const said: string[] = [];
    const problems = await fleetRounds({
      rounds: 3,
      from: 0,
      seed: seedOf(process.env["LABWRIGHT_SEED"]),
      labs: 4,
      nodes: 2,
      users: 4,
      net: 82,
      withLong: false,
      say: (line) => void said.push(line),
    });
    expect(problems, said.join("\n")).toEqual([]);
  },
);
