import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import type { FakeEveOptions } from "../../../../test/fakes/eve/options.ts";
import { startFakeEve } from "../../../../test/fakes/eve/server.ts";
import { type EveBench, eveBench, lab, node } from "../eve-bench.fixture.ts";
import { eveHost } from "../host.ts";
import { expectFacts } from "../read/lab-facts.ts";

/** Closed in reverse order. */
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const password = `p"a/s&s 'w<o>rd%2B`;

interface Repeating extends EveBench {
  readonly url: string;
  /** Calls that match are refused, with the whole request in the message. Others reach the host. */
  refuse: (calls: RegExp | undefined) => void;
  /** The messages of the refusals. */
  readonly messages: string[];
}

/** A fake host behind a proxy that repeats the requests it refuses. */
async function repeating(options: FakeEveOptions, notation: (text: string) => string): Promise<Repeating> {
  const bench = await eveBench(options);
  ends.push(async () => bench[Symbol.asyncDispose]());
  let refused: RegExp | undefined;
  const messages: string[] = [];
  const pass = async (asked: IncomingMessage): Promise<string | undefined> => {
    if (refused?.test(`${asked.method} ${asked.url}`) !== true) return undefined;
    const headers = asked.rawHeaders.map((header, index) => header + (index % 2 === 0 ? ": " : "\r\n")).join("");
    const message = notation(`${asked.method} ${asked.url} HTTP/1.1\r\n${headers}\r\n${await text(asked)}`);
    messages.push(message);
    return message;
  };
  const server = createServer((asked, answer) => {
    void pass(asked).then((message) => {
      if (message !== undefined) {
        answer.writeHead(400, { "Content-Type": "application/json" });
        answer.end(JSON.stringify({ code: 400, status: "fail", message }));
        return;
      }
      const { method, url, headers } = asked;
      const passed = request(bench.fake.url + (url ?? ""), { method, headers }, (got) => {
        answer.writeHead(got.statusCode ?? 500, got.headers);
        got.pipe(answer);
      });
      asked.pipe(passed);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...bench, url, messages, refuse: (calls) => (refused = calls) };
}

/** Everything of a failure that is logged, stored or answered. */
async function failureText(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  const parts: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    parts.push(one.message, one.stack ?? "", "data" in one ? JSON.stringify(one.data) : "");
  }
  return parts.join("\n");
}

const config = 'hostname r1\nenable secret 0 hunter2hunter2\nsnmp-server community c0mmun RO\n! a "quoted" / <line> & more\n';
const secretsOfConfig = ["hunter2", "c0mmun", "quoted"];

test.each([
  ["as it is", {}, (words: string) => words],
  ["JSON", { edition: "pro" }, (words: string) => JSON.stringify(words)],
  ["URL", { edition: "pro" }, encodeURIComponent],
  ["HTML", { edition: "ce6" }, (words: string) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")],
] as const)("a host that repeats requests in its errors puts no secret into them: %s", async (_name, options, notation) => {
  const { url, refuse, messages, rules } = await repeating(options, notation);
  expect(rules).toBeDefined();
  const host = eveHost({ url, plainHttp: true, warn: () => {}, timing: { pollMs: 10, patienceMs: 5_000, settleMs: 300, othersMs: 0 } });
  ends.push(() => host.close());
  refuse(/auth\/login/);
  const login = await failureText(host.login("admin", password));
  expect(login).toContain("********");
  for (const part of ['p"a/s', "rd%2B", notation(password), "w<o>rd"]) expect(login).not.toContain(part);

  refuse(undefined);
  const session = await host.login("admin", "eve");
  ends.push(() => session.close());
  refuse(/\/labs\/lab\.unl/);
  const reading = await failureText(session.status("/lab"));
  const cookie = /unetlab_session(?:=|%3D)([\w-]+)/.exec(messages.at(-1) ?? "")?.[1] ?? "";
  expect(cookie.length).toBeGreaterThan(8);
  expect(reading).toContain("unetlab_session");
  expect(reading).not.toContain(cookie.slice(0, 8));
});

test("a host that repeats a startup config in its errors puts no secret into them", async () => {
  const made = await repeating({ edition: "pro" }, (words) => words);
  const host = eveHost({
    url: made.url,
    plainHttp: true,
    warn: () => {},
    timing: { pollMs: 10, patienceMs: 5_000, settleMs: 300, othersMs: 0 },
  });
  ends.push(() => host.close());
  const session = await host.login("admin", "eve");
  ends.push(() => session.close());
  const wanted = lab({ nodes: [node("r1", "vios", { startupConfig: config })] });
  const { operations } = await made.plan("/lab", wanted);
  made.refuse(/^PUT .*\/configs\//);
  const failure = await failureText(session.apply("/lab", operations, { ids: { nodes: {}, networks: {}, links: {} }, step: () => {} }));
  expect(made.messages.join("\n")).toContain("hunter2hunter2");
  expect(failure).toContain("********");
  for (const secret of secretsOfConfig) expect(failure).not.toContain(secret);
});

test("a host that unpacks an imported lab and repeats it in its errors puts no secret into them", async () => {
  const config64 = Buffer.from(config).toString("base64");
  const made = await repeating({}, () => `parse error near <config id="1">${config64}</config>: ${config}`);
  const host = eveHost({
    url: made.url,
    plainHttp: true,
    warn: () => {},
    timing: { pollMs: 10, patienceMs: 5_000, settleMs: 300, othersMs: 0 },
  });
  ends.push(() => host.close());
  const session = await host.login("admin", "eve");
  ends.push(() => session.close());
  const { operations } = await made.plan("/lab", lab({ nodes: [node("r1", "vios", { startupConfig: config })] }));
  made.refuse(/^POST .*import/);
  const failure = await failureText(session.apply("/lab", operations, { ids: { nodes: {}, networks: {}, links: {} }, step: () => {} }));
  expect(made.messages).not.toEqual([]);
  for (const secret of [...secretsOfConfig, config64.slice(20, 40)]) expect(failure).not.toContain(secret);
});

test("a refused login of PNETLab puts no password and no cookie into its error", async () => {
  const fake = await startFakeEve({ latency: "none", edition: "pnetlab" });
  ends.push(() => fake.close());
  let cookies = "";
  const server = createServer((asked, answer) => {
    if (asked.method === "POST" && asked.url?.includes("/auth/login/login") === true) {
      cookies = asked.headers.cookie ?? "";
      // Without the names of the fields, which would mean wrong credentials.
      void text(asked).then((body) => {
        const { password: sent } = JSON.parse(body) as { readonly password: string };
        answer.writeHead(400).end(JSON.stringify({ result: false, message: `bad: ${cookies} ${sent}` }));
      });
      return;
    }
    const { method, url, headers } = asked;
    const passed = request(fake.url + (url ?? ""), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      got.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const host = eveHost({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, plainHttp: true, warn: () => {} });
  ends.push(() => host.close());
  const failure = await failureText(host.login("admin", "hunter2hunter2"));
  expect(cookies).toMatch(/=[^;]{8}/);
  expect(failure).toContain("PNETLab did not let admin in: bad: ");
  expect(failure).not.toContain("hunter2");
  for (const cookie of cookies.split("; ")) expect(failure).not.toContain(cookie.slice(cookie.indexOf("=") + 1));
});

test("a difference between the wanted lab and the host's is reported without the secrets in it", async () => {
  const facts = (secret: string) =>
    new Map([
      ["node 1 startup-config", `enable secret ${secret}\nhostname ${secret.slice(0, 2)}\n`],
      ["node 1 enable_password", secret],
      ["node 1 ram", secret.length.toString()],
    ]);
  const failure = await failureText((async () => expectFacts(facts("hunter2"), facts("other-secret")))());
  expect(failure).toContain('{"field":"node 1 ram","wanted":"7","got":"12"}');
  expect(failure).toContain("hostname hu");
  for (const secret of ["hunter2", "other-secret"]) expect(failure).not.toContain(secret);
});
