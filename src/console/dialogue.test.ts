import { type ChildProcess, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { runDialogue } from "./dialogue.ts";

const running: ChildProcess[] = [];

function shell(): Duplex {
  const child = spawn("script", ["-qfec", "bash --norc --noprofile", "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/", TERM: "dumb", PS1: "$ " },
    stdio: ["pipe", "pipe", "ignore"],
  });
  running.push(child);
  const stream = Duplex.from({ readable: child.stdout!, writable: child.stdin! });
  stream.on("error", () => {});
  return stream;
}

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = new Promise((settle) => child.once("exit", settle));
    child.kill("SIGKILL");
    await gone;
  }
});

test("it types and waits in order, by text and by expression", async () => {
  const { steps, output } = await runDialogue(shell(), [
    { expect: "$ " },
    { send: "read -p 'name: ' x; echo hi-$x-", expect: { regex: "^name: $" } },
    { send: "bob", expect: { regex: "^hi-(\\w+)-" } },
  ]);
  expect(steps.map(({ matched }) => matched)).toEqual([true, true, true]);
  expect(output).toContain("hi-bob-");
});

test("a secret is typed, but stands in no output", async () => {
  const { output, steps } = await runDialogue(shell(), [
    { expect: "$ " },
    { send: "read x; echo [$x]", expect: "echo" },
    { send: "hunter2", secret: true, expect: "]" },
  ]);
  expect(output).toContain("[********]");
  expect(JSON.stringify(steps)).not.toContain("hunter2");
});

test("the first expected text that does not come stops it, with what was done", async () => {
  const failure = await runDialogue(shell(), [
    { expect: "$ " },
    { send: "echo one", expect: "two", timeout_ms: 500 },
    { send: "touch /never" },
  ]).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: "console_timeout",
    data: { steps: [{ matched: true }, { matched: false }], output: expect.stringContaining("one") },
  });
});

test("a control character is sent as it is", async () => {
  const { steps } = await runDialogue(shell(), [
    { expect: "$ " },
    // Its answer, not the echo: a terminal that a shell is just handing over may echo or not.
    { send: "cat -E", expect: "cat -E" },
    { send: "ping", expect: "ping$" },
    { send: "\x03", expect: "$ ", timeout_ms: 5_000 },
  ]);
  expect(steps.at(-1)?.matched).toBe(true);
});

test("an expression that is none, or never comes to an end, is refused", async () => {
  const none = await runDialogue(shell(), [{ expect: { regex: "(" } }]).catch((error: unknown) => error);
  expect(none).toMatchObject({ code: "bad_request", data: { problems: [{ path: "/steps/0/expect/regex" }] } });
  const endless = await runDialogue(shell(), [
    { send: `echo ${"a".repeat(40)}`, expect: "aaaa\n" },
    { send: `echo ${"a".repeat(40)}`, expect: { regex: "^(a+)+b$" }, timeout_ms: 10_000 },
  ]).catch((error: unknown) => error);
  expect(endless).toMatchObject({ code: "bad_request" });
});
