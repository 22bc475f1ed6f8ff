/**
 * Compares Labwright with lower bounds and with a peer, as ratios within one run on one machine. Prints a table. `--write` also writes it, with the date and
 * the machine, to docs/performance.md. Arguments select parts: `node bench/main.ts ring100 plan status health`. `fleet-scale` is not part of the table: it prints the
 * figures of large fleets.
 */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, release } from "node:os";
import { join } from "node:path";
import { health, planUnchanged, pollingMs, statusPolls } from "./api.ts";
import { captureUnderLoad } from "./capture.ts";
import { type ChangeTimes, changeTimes } from "./change.ts";
import { type Stream, streamFromMemory, streamFromTerminal } from "./console.ts";
import { type EveResult, eveByCalls, eveByDriver } from "./eve.ts";
import { execFigures } from "./exec.ts";
import { fleetFigures } from "./fleet.ts";
import { type FrrResult, frrAlone, frrThroughApi } from "./frr.ts";
import { addedDelay, type LinkKind, linkFigures } from "./link.ts";
import { bareKernels, ownKernels } from "./own-kernel.ts";
import { type RingResult, ringByHolder, ringByKernel, ringByMininet, ringThroughApi } from "./ring.ts";
import { panLab, type WebResult } from "./web.ts";
import { type PacketsResult, scrollPackets } from "./web-packets.ts";

interface Row {
  readonly what: string;
  readonly figure: string;
  /** The ratio and its reference; empty without a reference. */
  readonly ratio: string;
  readonly aim: string;
}

const parts: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  ring100: () => ring(100, 3),
  ring500: () => ring(500, 3),
  frr: () => frr(100, 3),
  plan,
  status,
  health: healthRows,
  console: consoleRows,
  fleet: fleetRows,
  eve,
  capture,
  change,
  link,
  exec,
  ownKernel,
  web,
};

// Fleets of several sizes, with options of their own.
if (process.argv[2] === "fleet-scale") await import("./fleet-scale-main.ts");

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
const unknown = [...names.filter((name) => !(name in parts)), ...args.filter((arg) => arg.startsWith("--") && arg !== "--write")];
if (unknown.length > 0) {
  console.error(`bench: no ${unknown.join(", ")}; the parts are ${Object.keys(parts).join(", ")}, and --write writes the table`);
  process.exit(1);
}
const chosen = names.length > 0 ? names : Object.keys(parts);
if (chosen.some((name) => !["eve", "frr", "web", "console", "fleet", "capture", "change", "link", "exec", "ownKernel"].includes(name)))
  install(["mininet", "wrk"]);
const tableHead = ["| what | figure | ratio | aim |", "|---|---|---|---|"];
const rowText = (row: Row) => `| ${row.what} | ${row.figure} | ${row.ratio} | ${row.aim} |`;
const rows: Row[] = [];
console.log(tableHead.join("\n"));
for (const name of chosen) {
  console.error(`bench: ${name} …`);
  const some = (await parts[name]?.()) ?? [];
  // Printed at once: a failing part does not lose the results of earlier ones.
  console.log(some.map(rowText).join("\n"));
  rows.push(...some);
}
if (args.includes("--write")) await write(rows);

async function capture(): Promise<readonly Row[]> {
  const told = async (what: string, rate: number, aim: string): Promise<Row> => {
    const { alone, captured, packets, dropped } = await captureUnderLoad(rate);
    const figure = `${Math.round(captured)} packets/s, ${packets} captured, ${dropped} dropped`;
    return { what, figure, ratio: `${(captured / alone).toFixed(2)} of the same without a capture`, aim };
  };
  return [await told("capture at 50,000 packets/s", 50_000, "at least 0.9"), await told("capture as fast as a node sends", 0, "")];
}

async function change(): Promise<readonly Row[]> {
  const [small, large] = await changeTimes(100, 1000);
  const row = (what: string, field: keyof ChangeTimes, aim: string): Row => {
    const [few, many] = [median(small[field]), median(large[field])];
    const ratio = `${(many / few).toFixed(1)}× a lab of 100 (${few.toFixed(0)} ms)`;
    return { what: `${what} in a running 1,000-node lab, through the API`, figure: `${many.toFixed(0)} ms`, ratio, aim };
  };
  return [
    row("first quality of a link that had none", "firstQuality", "≤ 50 ms"),
    row("other values for a link that has a quality", "quality", "≤ 50 ms"),
    row("a link's quality taken away", "clearQuality", ""),
    row("suspend or resume of a link", "suspend", "≤ 50 ms"),
    row("reconcile of the whole intent, one link more,", "addLink", ""),
  ];
}

async function link(): Promise<readonly Row[]> {
  const all = await linkFigures();
  // The best of each: other work on the machine can only lower the result.
  const best = (kind: LinkKind) => {
    const { rate, packets, roundTrip } = all[kind];
    return { rate: Math.max(...rate), packets: Math.max(...packets), roundTrip: Math.min(...roundTrip) };
  };
  const bare = best("veth");
  const row = (what: string, kind: LinkKind, aim: string): Row => {
    const of = best(kind);
    const percent = (field: "rate" | "packets") => `${((of[field] / bare[field]) * 100).toFixed(0)} %`;
    const added = of.roundTrip - bare.roundTrip;
    const trip = kind === "delayed" ? added - 2000 * addedDelay : added;
    const beyond = kind === "delayed" ? ` beyond the ${2 * addedDelay} ms asked for` : "";
    return {
      what,
      figure: `TCP ${(of.rate / 1000).toFixed(1)} Gbit/s, ${(of.packets / 1000).toFixed(0)} kpps, round trip ${of.roundTrip.toFixed(0)} µs`,
      ratio: `TCP ${percent("rate")}, packets ${percent("packets")} of a bare veth pair, ${trip >= 0 ? "+" : ""}${trip.toFixed(0)} µs${beyond}`,
      aim,
    };
  };
  return [
    { ...row("bare veth pair between two namespaces", "veth", ""), ratio: "" },
    row("link of a lab", "link", "≥ 80 %, ≤ +20 µs"),
    row("the same through the shaper, with a bandwidth that nothing reaches", "shaped", ""),
    row(`the same through the shaper, with ${addedDelay} ms of delay in each direction`, "delayed", ""),
    row("two ports of a VLAN-aware switch, in one VLAN", "switch", ""),
  ];
}

async function exec(): Promise<readonly Row[]> {
  install(["podman", "runc"]);
  const figures = await execFigures();
  const row = (what: string, of: "one" | "all", by: string, peer: string, aim: string): Row => {
    const ms = median(figures[of]);
    const against = (name: string, times: readonly number[]) =>
      `${(ms / median(times)).toFixed(2)}× ${name} (${median(times).toFixed(1)} ms)`;
    const ratio = [against(by, figures[`${of}Floor`]), against(peer, figures[`${of}Podman`])].join(", ");
    return { what, figure: `${ms.toFixed(1)} ms`, ratio, aim };
  };
  const rate = (what: string, of: "down" | "up"): Row => {
    const own = median(figures[of]);
    const against = (name: string, rates: readonly number[]) =>
      `${(own / median(rates)).toFixed(2)}× ${name} (${median(rates).toFixed(0)} MB/s)`;
    const ratio = [against("bare TLS between two processes", figures[`${of}Floor`]), against("podman cp", figures[`${of}Podman`])].join(
      ", ",
    );
    const service = median(figures[`${of}Service`]).toFixed(2);
    return { what, figure: `${own.toFixed(0)} MB/s, ${service} s of the service's processor time`, ratio, aim: "≥ 300 MB/s" };
  };
  return [
    row("exec -- true in one node, through the API", "one", "nsenter", "podman exec", "< 15 ms"),
    row("exec -- true in 100 nodes, one call", "all", "100 nsenter at once", "100 podman exec at once", "< 1 s"),
    rate("labwright cp of 1 GB out of a node, with the start of the program", "down"),
    rate("labwright cp of 1 GB into a node, with the start of the program", "up"),
  ];
}

async function ownKernel(): Promise<readonly Row[]> {
  // The first node of an image and memory size waits for the snapshot from which the others start.
  await ownKernels(1);
  const [one, bare]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round++) {
    one.push((await ownKernels(1)).ms);
    bare.push(await bareKernels(1));
  }
  const { ms, memory } = await ownKernels(20);
  const bareMs = await bareKernels(20);
  const row = (what: string, own: number, floor: number, by: string, aim: string): Row => ({
    what,
    figure: `${(own / 1000).toFixed(1)} s`,
    ratio: `${(own / floor).toFixed(2)}× ${by} (${(floor / 1000).toFixed(1)} s)`,
    aim,
  });
  const boot = "a boot of the same kernel in a bare microvm";
  return [
    row("one node with a kernel of its own, from deploy to ready", median(one), median(bare), boot, "3 s without KVM"),
    row("20 of them", ms, bareMs, "20 such boots at once", "20 s"),
    { what: "memory of the 20 hypervisors", figure: `${(memory / 1024).toFixed(1)} GiB`, ratio: "", aim: "< 4 GiB" },
  ];
}

async function ring(count: number, rounds: number): Promise<readonly Row[]> {
  const systems = { api: ringThroughApi, holder: ringByHolder, kernel: ringByKernel, mininet: ringByMininet };
  const results: Record<keyof typeof systems, RingResult[]> = { api: [], holder: [], kernel: [], mininet: [] };
  for (let i = 0; i < rounds; i++) {
    for (const [name, system] of Object.entries(systems) as [keyof typeof systems, (count: number) => Promise<RingResult>][]) {
      results[name].push(await system(count));
    }
  }
  const of = (name: keyof typeof systems, field: keyof RingResult) => median(results[name].map((result) => result[field] ?? Number.NaN));
  const usable = (name: keyof typeof systems) => of(name, "usable");
  const s = (value: number) => `${value.toFixed(2)} s`;
  const title = `ring of ${count}`;
  return [
    {
      what: `${title}: every link carries a ping, through the API`,
      figure: s(usable("api")),
      ratio: `${(usable("api") / usable("holder")).toFixed(2)}× holder and batches alone (${s(usable("holder"))})`,
      aim: count === 500 ? "≤ 1.5×" : "",
    },
    {
      what: `${title}: the same against one ip -batch of namespaces and veths, nothing in them`,
      figure: s(usable("api")),
      ratio: `${(usable("api") / usable("kernel")).toFixed(2)}× kernel (${s(usable("kernel"))})`,
      aim: "",
    },
    {
      what: `${title}: the same against mininet`,
      figure: s(usable("api")),
      ratio: `${(usable("mininet") / usable("api")).toFixed(1)}× faster (mininet ${s(usable("mininet"))})`,
      aim: count === 500 ? "≥ 6× faster" : "",
    },
    {
      what: `${title}: destroy through the API`,
      figure: s(of("api", "stopped")),
      ratio: `${(of("mininet", "stopped") / of("api", "stopped")).toFixed(1)}× faster (mininet ${s(of("mininet", "stopped"))})`,
      aim: count === 500 ? "≥ 20× faster" : "",
    },
    {
      what: `${title}: memory per idle node (PSS)`,
      figure: `${of("api", "pssKib").toFixed(0)} KiB`,
      ratio: `${(of("api", "pssKib") / of("mininet", "pssKib")).toFixed(2)}× mininet (${of("mininet", "pssKib").toFixed(0)} KiB)`,
      aim: "< 1×",
    },
  ];
}

async function frr(count: number, rounds: number): Promise<readonly Row[]> {
  const ours: FrrResult[] = [];
  const alone: FrrResult[] = [];
  for (let i = 0; i < rounds; i++) {
    ours.push(await frrThroughApi(count));
    alone.push(await frrAlone(count));
  }
  const [mine, floor] = [median(ours.map(({ started }) => started)), median(alone.map(({ started }) => started))];
  const ready = median(ours.map((one) => one.ready ?? Number.NaN));
  const title = `ring of ${count} FRR routers with OSPF`;
  return [
    {
      what: `${title}: every daemon has started, through the API`,
      figure: `${mine.toFixed(1)} s`,
      ratio: `${(mine / floor).toFixed(2)}× the daemons alone in bare namespaces (${floor.toFixed(1)} s)`,
      aim: "≤ 1.5×",
    },
    { what: `${title}: every router is ready`, figure: `${ready.toFixed(1)} s`, ratio: "", aim: "" },
  ];
}

async function plan(): Promise<readonly Row[]> {
  const { seconds, operations } = await planUnchanged(5000);
  if (operations !== 0) throw new Error(`the plan of an unchanged lab has ${operations} operations`);
  return [
    { what: "plan of an unchanged 5,000-node lab, through the API", figure: `${median(seconds).toFixed(2)} s`, ratio: "", aim: "< 1 s" },
  ];
}

async function status(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const count of [500, 1000]) {
    const results = await statusPolls(count, [
      { pollers: 1, everyMs: 0 },
      { pollers: 100, everyMs: 1000 },
      { pollers: 100, everyMs: 0 },
    ]);
    for (const { pollers, everyMs, ms } of results) {
      const pace = everyMs === 0 ? "as fast as it is answered" : "once a second";
      rows.push({
        what: `status of a running ${count}-node lab, ${pollers === 1 ? "1 poller, " : `${pollers} pollers, each `}${pace}`,
        figure: `p50 ${quantile(ms, 0.5).toFixed(1)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms`,
        ratio: `${(ms.length / (pollingMs / 1000)).toFixed(0)} answers/s`,
        aim: everyMs > 0 ? "p99 ≤ 10 ms" : "",
      });
    }
  }
  return rows;
}

async function healthRows(): Promise<readonly Row[]> {
  const { service, raw } = await health(5);
  const pairs = service.map((rate, i) => rate / (raw[i] ?? Number.NaN));
  return [
    {
      what: "GET /health, 16 kept-alive connections",
      figure: `${median(service).toFixed(0)} answers per second of processor time`,
      ratio: `${(median(pairs) * 100).toFixed(0)} % of raw node:https (${median(raw).toFixed(0)})`,
      aim: "≥ 60 %",
    },
  ];
}

async function fleetRows(): Promise<readonly Row[]> {
  const { status, streams } = await fleetFigures(5);
  const [own, away] = [median(status.own), median(status.away)];
  const cost = median(streams.map(({ forwarded, relay }) => forwarded.cost / relay.cost));
  const rate = median(streams.map(({ forwarded, relay }) => forwarded.rate / relay.rate));
  return [
    {
      what: "status of a lab on another machine of a fleet",
      figure: `${away.toFixed(2)} ms`,
      ratio: `+${(away - own).toFixed(2)} ms against a lab of the machine that is asked (${own.toFixed(2)} ms)`,
      aim: "under +3 ms",
    },
    {
      what: "console stream through another machine",
      figure: `${median(streams.map(({ forwarded }) => forwarded.rate)).toFixed(0)} MB/s`,
      ratio: `${(rate * 100).toFixed(0)} % of a relay from TLS to TLS, ${cost.toFixed(2)}× its processor time`,
      aim: "≥ 80 %",
    },
  ];
}

async function consoleRows(): Promise<readonly Row[]> {
  const memory = await streamFromMemory(5);
  const terminal = await streamFromTerminal(5);
  const of = (streams: readonly Stream[], field: keyof Stream) => median(streams.map((one) => one[field]));
  const against = (streams: readonly Stream[], floor: readonly Stream[], field: keyof Stream) =>
    median(streams.map((one, round) => one[field] / (floor[round]?.[field] ?? Number.NaN)));
  const row = (what: string, streams: readonly Stream[], floor: readonly Stream[], name: string, aim: string): Row => ({
    what,
    figure: `${of(streams, "rate").toFixed(0)} MB/s, ${of(streams, "cost").toFixed(2)} ms of processor per MB`,
    ratio: `${(against(streams, floor, "rate") * 100).toFixed(0)} % of ${name} (${of(floor, "rate").toFixed(0)} MB/s, ${of(floor, "cost").toFixed(2)} ms)`,
    aim,
  });
  return [
    row("console stream of a test process, through the service (TLS)", memory.service, memory.tls, "a bare TLS relay", "≥ 80 %"),
    row("the same against a bare TCP relay, nothing encrypted", memory.service, memory.tcp, "it", "≥ 80 %"),
    row(
      "what a real node writes to its terminal, through holder and service (TLS)",
      terminal.service,
      terminal.holder,
      "the holder's socket",
      "",
    ),
  ];
}

async function eve(): Promise<readonly Row[]> {
  const ours: EveResult[] = [];
  const theirs: EveResult[] = [];
  for (let i = 0; i < 3; i++) {
    ours.push(await eveByDriver(50));
    theirs.push(await eveByCalls(50));
  }
  const row = (what: string, field: "defined" | "running", aim: string): Row => {
    const [mine, peer] = [median(ours.map((one) => one[field])), median(theirs.map((one) => one[field]))];
    const ratio = `${(peer / mine).toFixed(1)}× faster than one call a step (${peer.toFixed(1)} s)`;
    return { what: `ring of 50 on EVE-NG's double with recorded latencies: ${what}`, figure: `${mine.toFixed(2)} s`, ratio, aim };
  };
  return [row("the host has the lab, read back", "defined", "≥ 10× faster"), row("all nodes run", "running", "≥ 10× faster")];
}

async function packetsRow(): Promise<Row> {
  const results: PacketsResult[] = [];
  for (let i = 0; i < 3; i++) results.push(await scrollPackets(10_000));
  const of = (field: keyof PacketsResult) => median(results.map((one) => one[field]));
  const [scrolled, idle] = [of("scrolled"), of("idle")];
  return {
    what: `web pages: scrolling through ${of("packets")} captured packets, 60 px a frame`,
    figure: `${scrolled.toFixed(0)} frames/s, ${of("busyMs").toFixed(1)} ms of the page's thread for each; rows yet to come in ${of("waiting").toFixed(0)} % of them`,
    ratio: `${((scrolled / idle) * 100).toFixed(0)} % of a page that does nothing (${idle.toFixed(0)} frames/s)`,
    aim: "60 frames/s",
  };
}

async function web(): Promise<readonly Row[]> {
  const results: WebResult[] = [];
  for (let i = 0; i < 3; i++) results.push(await panLab(500));
  const of = (field: keyof WebResult) => median(results.map((one) => one[field]));
  const [panned, idle] = [of("panned"), of("idle")];
  return [
    {
      what: "web pages: panning the topology of a 500-node lab, headless Chromium without a graphics card",
      figure: `${panned.toFixed(0)} frames/s, ${of("busyMs").toFixed(1)} ms of the page's thread for each`,
      ratio: `${((panned / idle) * 100).toFixed(0)} % of a page that does nothing (${idle.toFixed(0)} frames/s)`,
      aim: "60 frames/s",
    },
    await packetsRow(),
  ];
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** Installs the peer and the load generator from Debian, only for the bench. */
function install(packages: readonly string[]): void {
  // A placeholder of dpkg-query.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the format of dpkg-query
  const format = "-f=${Status}";
  const missing = packages.filter((name) => {
    try {
      return !execFileSync("dpkg-query", ["-W", format, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).includes(
        "ok installed",
      );
    } catch {
      return true; // dpkg-query ends with 1 for an unknown package
    }
  });
  if (missing.length === 0) return;
  console.error(`bench: installing ${missing.join(" ")} from Debian`);
  execFileSync("apt-get", ["update", "-q"], { stdio: ["ignore", "ignore", "inherit"] });
  execFileSync("apt-get", ["install", "-yq", "--no-install-recommends", ...missing], { stdio: ["ignore", "ignore", "inherit"] });
}

/** Replaces the rows of the chosen parts in the table. A row with another date than the table contains its date. */
async function write(rows: readonly Row[]): Promise<void> {
  const file = join(import.meta.dirname, "../docs/performance.md");
  const text = await readFile(file, "utf8");
  const [start, end] = ["<!-- figures -->", "<!-- /figures -->"];
  if (!text.includes(start) || !text.includes(end)) throw new Error(`${file} has no place for figures`);
  const today = new Date().toISOString().slice(0, 10);
  const [told = "", , , , ...lines] = text
    .slice(text.indexOf(start) + start.length, text.indexOf(end))
    .trim()
    .split("\n");
  const whole = names.length === 0;
  const here = `${today}; ${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}, Linux ${release()}, Node ${process.version}`;
  const head = whole || told === "" ? here : told;
  const fresh = new Map(rows.map((row) => [row.what, head.startsWith(today) ? row : { ...row, figure: `${row.figure} (${today})` }]));
  const kept = whole ? [] : lines.map((line) => [line.split("|")[1]?.trim() ?? "", line] as const);
  const merged = kept.map(([what, line]) => {
    const row = fresh.get(what);
    fresh.delete(what);
    return row === undefined ? line : rowText(row);
  });
  const table = [...tableHead, ...merged, ...[...fresh.values()].map(rowText)].join("\n");
  await writeFile(
    file,
    text.replace(new RegExp(`${start}[^]*${end}`), () => `${start}\n\n${head}\n\n${table}\n\n${end}`),
  );
}
