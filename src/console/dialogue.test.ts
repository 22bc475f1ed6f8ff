import { afterEach, expect, test } from "vitest";
import { runDialogue } from "./dialogue.ts";
import { endPrograms, onPty } from "./pty.fixture.ts";

afterEach(endPrograms);

const shell = () => onPty("bash --norc --noprofile", { TERM: "dumb", PS1: "$ " });

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
    { send: "read -p 'secret: ' x; echo [$x]", expect: { regex: "^secret: $" } },
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
