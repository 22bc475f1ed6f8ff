/**
 * `npm run fuzz`: requests to the service, then the parsers in C (LABWRIGHT_FUZZ_SECONDS each) and the importers (as long); or with --index one request again,
 * or with --importers the importers alone (--format FORMAT: one of them).
 * LABWRIGHT_SEED and LABWRIGHT_FUZZ_REQUESTS as in the test, but a seed of its own by default.
 */
import { parseArgs } from "node:util";
import { fuzzParsers } from "../../native/fuzz/parsers.ts";
import { operations } from "../../src/contract/operations.ts";
import { seedOf } from "../seed.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzAndKeep } from "./fuzz-importers.ts";
import { ServiceProcess, smallHeap } from "./service-process.ts";

const { values } = parseArgs({ options: { index: { type: "string" }, importers: { type: "boolean" }, format: { type: "string" } } });
const seed = seedOf(process.env.LABWRIGHT_SEED, "random");
const requests = values.index === undefined ? Number(process.env.LABWRIGHT_FUZZ_REQUESTS ?? 200_000) : 1;
const from = Number(values.index ?? 0);
const seconds = Number(process.env.LABWRIGHT_FUZZ_SECONDS ?? 60);
const importers = () => fuzzAndKeep({ seed, milliseconds: seconds * 1000, limitMs: 20_000, format: values.format });
if (values.importers) process.exit((await importers()) === 0 ? 0 : 1);

await using service = await ServiceProcess.start({ nodeOptions: smallHeap });
console.log(`seed ${seed}, ${requests} requests from index ${from}`);
const report = await fuzz(service, { seed, requests, from, limitMs: 30 * 60_000 });
const mib = (bytes: number | undefined) => `${Math.round((bytes ?? 0) / 2 ** 20)} MiB`;
for (const [outcome, count] of Object.entries(report.tally).sort(([, a], [, b]) => b - a))
  console.log(`${String(count).padStart(8)}  ${outcome}`);
console.log(
  `done: ${Object.keys(operations)
    .map((id) => `${id} ${report.done[id] ?? 0}`)
    .join(", ")}`,
);
console.log(`${report.sent} requests in ${(report.ms / 1000).toFixed(1)} s, ${Math.round((report.sent / report.ms) * 1000)}/s`);
const tenths = Array.from({ length: 11 }, (_, tenth) => report.rss[Math.floor(((report.rss.length - 1) * tenth) / 10)]);
console.log(`resident memory: ${tenths.map(mib).join(", ")}`);
for (const failure of report.failures) console.log(failure);
if (report.failures.some((failure) => /internal|service ended/.test(failure)))
  console.log(
    (await service.log())
      .split("\n")
      .filter((line) => /"level":[56]0/.test(line))
      .slice(-20)
      .join("\n"),
  );
const parsers = values.index === undefined ? await fuzzParsers(seconds) : [];
for (const failure of parsers) console.log(failure);
const imports = values.index === undefined ? await importers() : 0;
process.exitCode = report.failures.length + parsers.length + imports === 0 ? 0 : 1;
