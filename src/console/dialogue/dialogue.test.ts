import { PassThrough } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { ConsoleHub } from "../stream/hub.ts";
import { maxSecretCharacters, redact } from "../text/redact.ts";
import { runDialogue } from "./dialogue.ts";
import { Expressions } from "./expressions.ts";
import { endPrograms, onPty } from "./pty.fixture.ts";

afterEach(endPrograms);

/** Dialogues with it begin with an empty line: a dialogue ignores output from before its first step, and that may be the shell's first prompt. */
const shell = () => onPty("bash --norc --noprofile", { TERM: "dumb", PS1: "$ " });

test("it types and waits in order, by text and by expression", async () => {
  const { steps, output } = await runDialogue(shell(), [
    { send: "", expect: "$ " },
    { send: "read -p 'name: ' x; echo hi-$x-", expect: { regex: "^name: $" } },
    { send: "bob", expect: { regex: "^hi-(\\w+)-" } },
  ]);
  expect(steps.map(({ matched }) => matched)).toEqual([true, true, true]);
  expect(output).toContain("hi-bob-");
});

test("a secret is typed, but no output contains it", async () => {
  const { output, steps } = await runDialogue(shell(), [
    { send: "", expect: "$ " },
    { send: "read -p 'secret: ' x; echo [$x]", expect: { regex: "^secret: $" } },
    { send: "hunter2", secret: true, expect: "]" },
  ]);
  expect(output).toContain("[********]");
  expect(JSON.stringify(steps)).not.toContain("hunter2");
});

test("the first expected text that does not come ends the dialogue, with the steps done so far", async () => {
  const failure = await runDialogue(shell(), [
    { send: "", expect: "$ " },
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
    { send: "", expect: "$ " },
    // Only the program's own output shows that the shell handed over the terminal. A line that is typed earlier may lose its end.
    { send: "echo over; cat -E", expect: { regex: "^over$" } },
    { send: "ping", expect: "ping$" },
    { send: "\x03", expect: "$ ", timeout_ms: 5_000 },
  ]);
  expect(steps.at(-1)?.matched).toBe(true);
});

test("an invalid or endless expression is refused", async () => {
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
    { send: "", expect: "$ " },
    { send: "seq 1 1500000; echo over", expect: { regex: "^over$" }, timeout_ms: 40_000 },
  ]);
  expect(steps.at(-1)?.matched).toBe(true);
});

test("an endless expression delays neither timers nor other dialogues", async () => {
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
    { test: (source, text) => expressions.test(source, text, "bob") },
  );
  const sound = runDialogue(shell(), [{ expect: { regex: "^\\$ $" } }, { send: "echo $((6*7))", expect: { regex: "^42$" } }], {
    test: (source, text) => expressions.test(source, text, "ann"),
  });
  await expect(endless).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/steps/1/expect/regex" }] } });
  expect((await sound).steps.map(({ matched }) => matched)).toEqual([true, true]);
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(10);
  await expressions.close();
});

test("a cancelled dialogue reports the reason and the steps done", async () => {
  const cut = new AbortController();
  const failure = runDialogue(
    shell(),
    [
      { send: "", expect: "$ " },
      { send: "sleep 60", expect: "never" },
    ],
    { signal: cut.signal },
  ).catch((error: unknown) => error);
  setTimeout(() => cut.abort(new Failure("shutting_down", "the service goes down")), 300);
  expect(await failure).toMatchObject({ code: "shutting_down", data: { output: expect.any(String) } });
});

test("an expression that is refused is a bad request without a cause, as causes are logged", async () => {
  for (const regex of ["hunter2(", "a?".repeat(1_001)]) {
    const failure = await runDialogue(shell(), [{ expect: { regex } }]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "bad_request", data: { problems: [{ path: "/steps/0/expect/regex" }] } });
    expect((failure as Failure).cause).toBeUndefined();
  }
});

test("output from before its step does not meet the first expectation", async () => {
  const hub = new ConsoleHub({ open: async () => ({ stream: shell() }) });
  const watching = await hub.view();
  let seen = "";
  watching.on("data", (bytes: Buffer) => {
    seen += bytes.toString();
  });
  watching.write("echo MARK$((1))\r");
  await expect.poll(() => seen).toContain("MARK1\r\n$ ");
  const viewer = await hub.view({ terminal: false, scrollback: false });
  const { steps } = await runDialogue(viewer, [{ send: "sleep 0.3; echo MARK$((1))", expect: "MARK1\n$ " }]);
  expect(steps[0]!.duration_ms).toBeGreaterThanOrEqual(290);
  const failure = await runDialogue(viewer, [{ expect: "MARK1", timeout_ms: 300 }]).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "console_timeout", data: { output: "" } });
  hub.close();
});

test("unread output from before the first step does not meet its expectation", async () => {
  const stream = new PassThrough();
  stream.write("old# ");
  const failure = await runDialogue(stream, [{ expect: "old# ", timeout_ms: 100 }]).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "console_timeout", data: { output: "" } });
});

test("an expected line end is found although nothing follows it", async () => {
  const stream = new PassThrough();
  const dialogue = runDialogue(stream, [{ expect: "done\n", timeout_ms: 5_000 }]);
  setTimeout(() => stream.write("done\r\n"), 50);
  expect((await dialogue).steps).toMatchObject([{ matched: true }]);
});

const printable = [
  ...Array.from({ length: 0x7e - 0x20 }, (_, i) => String.fromCharCode(0x21 + i)),
  ...["ü", "ß", "Ω", "Ж", "中", "\u00a0", "€", "😀", "é"],
];

test("a secret of any printable characters is typed, and no output contains it", { timeout: 60_000 }, async () => {
  const steps = printable.flatMap((character) => [
    { send: `read -rp 'secret: ' x; echo "[$x]"`, expect: { regex: "^secret: $" } },
    { send: `pA${character}s2${character}`, secret: true, expect: "]\n" },
  ]);
  const { output, steps: results } = await runDialogue(onPty("bash --norc --noprofile", { PS1: "$ ", LANG: "C.UTF-8" }), [
    { send: "", expect: "$ " },
    ...steps,
  ]);
  expect(results.every(({ matched }) => matched)).toBe(true);
  expect(output.match(/\[\*{8}\]/g)).toHaveLength(printable.length);
  expect(output).not.toMatch(/pA.{1,2}s2/u);
});

test.each(["xterm", "vt100"])(
  "no output contains a secret that a line editor wraps over several lines, nor parts of it (%s)",
  async (TERM) => {
    const secret = `: ${Array.from({ length: 60 }, (_, i) => `S${i}-${i % 7 === 0 ? "  " : ""}`).join("")}`;
    const { output } = await runDialogue(onPty("stty cols 80; bash --norc --noprofile", { PS1: "router# ", LANG: "C.UTF-8", TERM }), [
      { send: "", expect: "router# " },
      // The shell shows two prompts before the secret: its first one, and that after the empty line.
      { send: secret, secret: true, expect: { regex: "S\\d[\\s\\S]*\\n(?:.*\\r)?router# $" } },
    ]);
    expect(output).toContain("********");
    expect(output).not.toMatch(/S\d/);
  },
);

test("a secret that is a part of the prompt is redacted there, and expectations see it", async () => {
  const { output, steps } = await runDialogue(onPty("bash --norc --noprofile", { TERM: "dumb", PS1: "router1$ " }), [
    { send: "", expect: "router1$ " },
    { send: "router1$", secret: true, expect: "router1$ " },
  ]);
  expect(steps.map(({ matched }) => matched)).toEqual([true, true]);
  expect(output).not.toContain("router1");
});

test("secrets that are too long to search for are refused before anything is typed", async () => {
  const stream = new PassThrough();
  const steps = [{ send: "a".repeat(maxSecretCharacters + 1), secret: true }];
  const failure = await runDialogue(stream, steps).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "bad_request", data: { problems: [{ path: "/steps" }] } });
  expect(stream.readableLength).toBe(0);
});

test.each([
  ["in one piece", ["say hunter2 now"], ["say ******** now"]],
  ["over several pieces", ["say hun", "te", "r2 now"], ["say ********", "", " now"]],
  ["wrapped at the edge of a terminal", ["say hunt\ner2 now"], ["say ******** now"]],
  ["wrapped with a blank and a return", ["say hunt \rer2 now"], ["say ******** now"]],
  ["wrapped with its next character written twice", ["say hunte\rer2\r2 now"], ["say ******** now"]],
  ["with a colour in it", ["say \x1b[1mhun\x1b[0mter2\x1b[K now"], ["say \x1b[1m********\x1b[K now"]],
  ["at the end and at the start", ["a hunter2", "hunter2 b"], ["a ********", "******** b"]],
  ["that has another one in it", ["x hunter2.* y hunter2"], ["x ******** y ********"]],
  ["of several lines", ["one-1\r\n> two-2"], ["********\r\n> ********"]],
  ["with a control character that is echoed", ["say tab^Ibed, tabbed, tab\tbed"], ["say ********, ********, ********"]],
  ["that overlaps itself", ["nananana x na"], ["******** x na"]],
])("a secret %s is redacted", (_name, pieces, shown) => {
  expect(redact(pieces, ["hunter2", "hunter2.*", "", "one-1\rtwo-2", "tab\tbed", "nanana", "nana"])).toEqual(shown);
});

test("redacting takes no longer for secrets and text that are all alike", () => {
  const secrets = Array.from({ length: 60 }, (_, i) => `${"a".repeat(1_000)}${"b".repeat(i + 1)}`);
  const started = performance.now();
  const [shown] = redact(["a".repeat(1 << 20)], secrets);
  expect(shown).toHaveLength(1 << 20);
  // Comparing each secret at each position would take 60 thousand million steps.
  expect(performance.now() - started).toBeLessThan(10_000);
});
