/** `npm run chaos`: a thousand rounds, or as many as `--rounds` says, of `--seed`, beginning with `--from`. */
import { parseArgs } from "node:util";
import { chaos } from "./chaos.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    from: { type: "string" },
    rounds: { type: "string" },
    minutes: { type: "string" },
    quiet: { type: "boolean" },
    vm: { type: "boolean" },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const from = Number(values.from ?? 0);
const rounds = Number(values.rounds ?? 1000);
console.log(`seed ${seed}, ${rounds} rounds from round ${from}; one round again: npm run chaos -- --seed ${seed} --from N --rounds 1`);
const began = performance.now();
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
const report = await chaos({
  signal: ending.signal,
  seed,
  from,
  rounds,
  goOn: true,
  vm: values.vm === true,
  limitMs: Number(values.minutes ?? 120) * 60_000,
  say: (line) => {
    if (values.quiet !== true || !line.startsWith("ok")) console.log(line);
  },
});
for (const [what, count] of Object.entries(report.hits).sort()) console.log(`${String(count).padStart(6)}  ${what}`);
console.log(`${report.done} rounds in ${Math.round((performance.now() - began) / 1000)} s, ${report.failures.length} failed`);
process.exitCode = report.failures.length === 0 && report.done === rounds ? 0 : 1;
