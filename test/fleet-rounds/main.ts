/** `npm run fleet`: rounds of faults in a fleet under load. `--rounds 200 --seed 7 --labs 300 --nodes 10 --users 100` is the large run; the defaults are smaller. */
import { parseArgs } from "node:util";
import { fleetRounds } from "./fleet-rounds.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    from: { type: "string", default: "0" },
    seed: { type: "string" },
    labs: { type: "string", default: "30" },
    nodes: { type: "string", default: "3" },
    users: { type: "string", default: "20" },
    only: { type: "string" },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
console.log(
  `seed ${seed}; the same again: npm run fleet -- --seed ${seed} --rounds ${values.rounds} --labs ${values.labs} --nodes ${values.nodes} --users ${values.users}`,
);
const problems = await fleetRounds({
  rounds: Number(values.rounds),
  from: Number(values.from),
  seed,
  labs: Number(values.labs),
  nodes: Number(values.nodes),
  users: Number(values.users),
  net: 81,
  withLong: true,
  only: values.only,
  say: (line) => console.log(line),
});
process.exit(problems.length === 0 ? 0 : 1);
