import { planLab } from "../src/engine/plan/plan-lab.ts";
import { eveHost } from "../src/hosts/eve/host.ts";
import { type Lab, linkKey } from "../src/intent/lab/lab.ts";
import { type FakeEve, startFakeEve } from "../test/fakes/eve/server.ts";

export interface EveResult {
  /** Seconds until the host has the complete lab, which is read back. */
  readonly defined: number;
  /** Seconds from the beginning until all nodes run. */
  readonly running: number;
  readonly calls: number;
}

/** Measures a ring of linux nodes that the driver deploys on a fake host with recorded latencies. */
export async function eveByDriver(count: number): Promise<EveResult> {
  return onDouble(async (fake) => {
    const host = eveHost({ url: fake.url, plainHttp: true, warn: () => {} });
    const session = await host.login("admin", "eve");
    const rules = await session.rules();
    const lab = ring(count);
    const from = fake.calls.length;
    const start = performance.now();
    const { operations } = planLab({ desired: lab, observed: await session.observe("/bench"), rules, prune: false, replace: false });
    let defined = 0;
    await session.apply("/bench", operations, {
      ids: { nodes: {}, networks: {}, links: {} },
      step: (id, state) => {
        if (state === "running" && id.startsWith("start:") && defined === 0) defined = since(start);
      },
    });
    const result = { defined, running: since(start), calls: fake.calls.length - from };
    await host.close();
    return result;
  });
}

/** Measures the same ring with a client that makes one call per step and reads nothing back, as public EVE-NG clients do. */
export async function eveByCalls(count: number): Promise<EveResult> {
  return onDouble(async (fake) => {
    const login = await fetch(`${fake.url}/api/auth/login`, {
      method: "POST",
      body: JSON.stringify({ username: "admin", password: "eve", html5: "-1" }),
    });
    const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const from = fake.calls.length;
    const start = performance.now();
    const call = async (method: string, path: string, body?: unknown): Promise<{ readonly data?: { readonly id?: number } }> => {
      const answer = await fetch(`${fake.url}/api${path}`, {
        method,
        headers: { Cookie: cookie },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { readonly data?: { readonly id?: number } };
    };
    await call("POST", "/labs", { path: "/", name: "bench", version: "1", author: "", description: "", body: "", scripttimeout: 300 });
    const at = "/labs/bench.unl";
    for (let i = 0; i < count; i++) {
      const about = {
        template: "linux",
        type: "qemu",
        image: "linux-tiny-1.0",
        icon: "Server-2D-Linux-S.svg",
        config: "0",
        console: "telnet",
      };
      await call("POST", `${at}/nodes`, {
        ...about,
        name: `n${i}`,
        cpu: "1",
        ram: "128",
        ethernet: "2",
        delay: 0,
        left: String(40 * i),
        top: "100",
      });
    }
    for (let i = 0; i < count; i++) {
      const { data } = await call("POST", `${at}/networks`, { name: `l${i}`, type: "bridge", left: 1, top: 1, visibility: 1, postfix: 0 });
      await call("PUT", `${at}/nodes/${i + 1}/interfaces`, { 1: String(data?.id) });
      await call("PUT", `${at}/nodes/${((i + 1) % count) + 1}/interfaces`, { 0: String(data?.id) });
      await call("PUT", `${at}/networks/${data?.id}`, { visibility: 0 });
    }
    const defined = since(start);
    for (let i = 0; i < count; i++) await call("GET", `${at}/nodes/${i + 1}/start`);
    for (;;) {
      const { data } = (await call("GET", `${at}/nodes`)) as { readonly data: Readonly<Record<string, { readonly status: number }>> };
      if (Object.values(data).every(({ status }) => status === 2)) break;
    }
    return { defined, running: since(start), calls: fake.calls.length - from };
  });
}

function ring(count: number): Lab {
  const end = (i: number, port: number) => ({ node: `n${i % count}`, interface: `e${port}` });
  const links = Array.from({ length: count }, (_, i) => {
    const endpoints = [end(i, 1), end(i + 1, 0)] as const;
    return { key: linkKey(...endpoints), endpoints };
  });
  const about = { template: "linux", cpu: 1, ram: 128, exec: [], env: {}, labels: {} };
  const nodes = Array.from({ length: count }, (_, i) => ({ key: `n${i}`, name: `n${i}`, ...about, attributes: { console: "telnet" } }));
  return { name: "bench", nodes, networks: [], links, texts: [], trafficFilters: [] };
}

async function onDouble<T>(work: (fake: FakeEve) => Promise<T>): Promise<T> {
  await using fake = await startFakeEve({ latency: "recorded" });
  const result = await work(fake);
  if (fake.defects.length > 0) throw fake.defects[0];
  return result;
}

function since(start: number): number {
  return (performance.now() - start) / 1000;
}
