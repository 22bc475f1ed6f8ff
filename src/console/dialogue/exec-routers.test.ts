import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { type ExecOptions, execCommand } from "./exec.ts";
import { endPrograms, onPty } from "./pty.fixture.ts";

afterAll(endPrograms);

const router = (kind: string, ...more: readonly string[]): Duplex =>
  onPty([process.execPath, join(import.meta.dirname, "router.fixture.ts"), kind, ...more].join(" "));

const run = async (stream: Duplex, command: string, options: Partial<ExecOptions> = {}): Promise<string> =>
  (await execCommand(stream, { command, timeoutMs: 30_000, ...options })).output;
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (error: unknown) => error,
  );

const long = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n");
const invalid = "        ^\n% Invalid input detected at '^' marker.";

describe.concurrent("a command line in the manner of IOS", () => {
  test("ends commands through its modes and with a new name", async () => {
    const stream = router("ios");
    expect(await run(stream, "enable")).toBe("");
    expect(await run(stream, "bogus")).toBe(invalid);
    expect(await run(stream, "configure terminal")).toBe("Enter configuration commands, one per line.  End with CNTL/Z.");
    expect(await run(stream, "router ospf 1\nhostname core\nend")).toBe("");
    expect(await run(stream, "bogus")).toBe(invalid);
  });

  test("is paged through, and output that looks like a prompt is output", async () => {
    const stream = router("ios");
    expect(await run(stream, "show long")).toBe(long);
    expect(await run(stream, "show prompts")).toBe("sw#show clock\n12:00\nsw>\nsw(config)#\nend of it");
    expect(await run(stream, "show slowly")).toBe("one two three\nfour");
  });

  test("that logs between its lines still ends commands", async () => {
    const stream = router("ios");
    await run(stream, "enable");
    await run(stream, "configure terminal");
    await run(stream, "shutdown");
    expect(await run(stream, "bogus")).toContain(invalid);
    expect(await run(stream, "end")).not.toContain("Invalid");
  });

  test("is logged in to with its template's account; without one, or with another password, the error reports it", async () => {
    const login = { username: "lab", password: "secret" };
    const stream = router("ios", "login");
    expect(await run(stream, "bogus", { traits: { login } })).toBe(invalid);
    expect(await failureOf(run(router("ios", "login"), "bogus"))).toMatchObject({
      code: "console_timeout",
      message: expect.stringContaining("login"),
    });
    const wrong = { login: { ...login, password: "wrong" } };
    expect(await failureOf(run(router("ios", "login"), "bogus", { traits: wrong }))).toMatchObject({
      code: "console_timeout",
      message: expect.stringContaining("refuses"),
    });
  });

  test("that asks for a password after a command is reported at once, and is usable afterwards", async () => {
    const stream = router("ios");
    const failure = await failureOf(run(stream, "enable secretly", { timeoutMs: 600_000 }));
    expect(failure).toMatchObject({ code: "console_timeout", message: expect.stringContaining("password") });
    expect(await run(stream, "bogus")).toContain(invalid);
  });

  test("that restarts is waited for until it has a prompt again", async () => {
    const stream = router("ios");
    await run(stream, "enable");
    expect(await failureOf(run(stream, "reload", { timeoutMs: 600 }))).toMatchObject({ code: "console_timeout" });
    expect(await run(stream, "bogus")).toBe(invalid);
  });
});

describe.concurrent("a command line in the manner of Junos", () => {
  test("ends commands through its modes; the lines before its prompt are no output", async () => {
    const stream = router("junos");
    expect(await run(stream, "show long")).toBe(long);
    expect(await run(stream, "configure")).toBe("Entering configuration mode");
    expect(await run(stream, "edit interfaces")).toBe("");
    expect(await run(stream, "show long")).toBe(long);
    expect(await run(stream, "exit configuration-mode")).toBe("Exiting configuration mode");
    expect(await run(stream, "bogus")).toBe("                ^\nunknown command.");
  });

  test("is logged in to with its template's account", async () => {
    const login = { username: "lab", password: "secret" };
    expect(await run(router("junos", "login"), "bogus", { traits: { login } })).toContain("unknown command.");
  });
});

test("a template's own pager and prompt are recognised by its patterns", async () => {
  const script =
    'while printf "=ready= "; read -r x; do [ -n "$x" ] || continue; echo one; printf "<< next? >>"; read -r k; echo two; done';
  const traits = { prompt: "^=ready= $", pager: { pattern: "^<< next\\? >>$", key: "\r" } };
  expect(await run(onPty(`sh -c '${script}'`), "go", { traits })).toBe("one\n\ntwo");
});
