/**
 * Prints the figures of fleets of several sizes: `npm run bench -- fleet-scale`, small by default; for example `--machines 10,30,100 --labs 20000 --changes 1000 --seconds 60`. Of more
 * machines than `--services`, the rest only reads
 */
import { parseArgs } from "node:util";
import { fleetScale } from "./fleet-scale.ts";

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    machines: { type: "string", default: "3,10" },
    services: { type: "string", default: "8" },
    labs: { type: "string", default: "1000" },
    changes: { type: "string", default: "600" },
    seconds: { type: "string", default: "20" },
  },
});
const quantile = (list: readonly number[], q: number) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))] ?? Number.NaN;
const times = (list: readonly number[]) =>
  `p50 ${quantile(list, 0.5).toFixed(1)} ms, p99 ${quantile(list, 0.99).toFixed(1)} ms (${list.length})`;
const machines = values.machines.split(",").map(Number);
for await (const result of fleetScale({
  machines,
  services: Number(values.services),
  labs: Number(values.labs),
  changes: Number(values.changes),
  seconds: Number(values.seconds),
})) {
  const { idle, change, failed } = result;
  console.log(`\n${result.machines} machines, ${result.labs} labs, ${values.changes} changes a minute
  placement of a new lab (its plan)   ${times(result.placements)}
  change, from call to answer         ${times(result.changes)}, ${failed.length} failed
  database, idle fleet, per second    ${idle.statements.toFixed(0)} statements, ${idle.rows.toFixed(0)} rows, ${idle.ms.toFixed(1)} ms
  database, per change                ${change.statements.toFixed(1)} statements, ${change.rows.toFixed(1)} rows, ${change.ms.toFixed(1)} ms
  all read again after a lost connection  ${(result.caughtUp / 1_000).toFixed(1)} s
  memory of all machines              ${result.memory} MiB`);
  for (const { text, calls, rows, ms } of result.top)
    console.log(
      `    ${ms.toFixed(0).padStart(7)} ms ${calls.toFixed(0).padStart(7)} calls ${rows.toFixed(0).padStart(8)} rows  ${text.replace(/\s+/g, " ")}`,
    );
  for (const text of new Set(failed)) console.log(`    ${failed.filter((one) => one === text).length}× ${text}`);
}
process.exit(0);
