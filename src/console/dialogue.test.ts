import { afterEach, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { blot } from "./blot.ts";
import { runDialogue } from "./dialogue.ts";
import { Expressions } from "./expressions.ts";
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
    // Only what a program says tells that the shell has handed the terminal over: what is typed before may miss its line's end.
    { send: "echo over; cat -E", expect: { regex: "^over$" } },
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

test("a thousand lines of flood before what is expected do not hide it", async () => {
  const { steps } = await runDialogue(shell(), [
    { expect: "$ " },
    { send: "seq 1 1500000; echo over", expect: { regex: "^over$" }, timeout_ms: 40_000 },
  ]);
  expect(steps.at(-1)?.matched).toBe(true);
});

test("an expression that never comes to an end holds up neither timers nor the dialogues beside it", async () => {
  const expressions = new Expressions();
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  const long = `echo ${"a".repeat(40)}`;
  const endless = runDialogue(
    shell(),
    [
      { send: long, expect: "aaaa\n" },
      { send: long, expect: { regex: "^(a+)+b$" } },
    ],
    { expressions },
  );
  const sound = runDialogue(shell(), [{ expect: { regex: "^\\$ $" } }, { send: "echo $((6*7))", expect: { regex: "^42$" } }], {
    expressions,
  });
  await expect(endless).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/steps/1/expect/regex" }] } });
  expect((await sound).steps.map(({ matched }) => matched)).toEqual([true, true]);
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(10);
  await expressions.close();
});

test("a dialogue that is cut off tells why, and what was done", async () => {
  const cut = new AbortController();
  const failure = runDialogue(shell(), [{ expect: "$ " }, { send: "sleep 60", expect: "never" }], { signal: cut.signal }).catch(
    (error: unknown) => error,
  );
  setTimeout(() => cut.abort(new Failure("shutting_down", "the service goes down")), 300);
  expect(await failure).toMatchObject({ code: "shutting_down", data: { output: expect.any(String) } });
});

test.each([
  ["in one piece", ["say hunter2 now"], ["say ******** now"]],
  ["over several pieces", ["say hun", "te", "r2 now"], ["say ********", "", " now"]],
  ["wrapped at the edge of a terminal", ["say hunt\ner2 now"], ["say ******** now"]],
  ["at the end and at the start", ["a hunter2", "hunter2 b"], ["a ********", "******** b"]],
  ["that has another one in it", ["x hunter2.* y hunter2"], ["x ******** y ********"]],
])("a secret %s is blotted out", (_name, pieces, shown) => {
  expect(blot(pieces, ["hunter2", "hunter2.*", ""])).toEqual(shown);
});
