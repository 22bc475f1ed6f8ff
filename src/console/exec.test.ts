import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { execCommand } from "./exec.ts";

const running: ChildProcess[] = [];

/** A real program on a real PTY (util-linux `script`), as the stream of a console. */
function onPty(command: string, env: Record<string, string> = {}): Duplex {
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/", TERM: "xterm", ...env },
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

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "console-exec-"));
  writeFileSync(
    join(folder, "long.txt"),
    Array.from({ length: 300 }, (_, index) => `line ${index + 1}`)
      .join("\n")
      .concat("\n"),
  );
  writeFileSync(join(folder, "router.py"), router);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const long = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n");

/** A command line in the manner of routers: readline with its prompt by mode, a pager that rubs itself out, `?`-less. */
const router = `
import readline, sys
mode, rows = "", 24
def page(lines):
    import termios, tty
    for n, line in enumerate(lines):
        if n and n % rows == 0:
            sys.stdout.write("--More-- "); sys.stdout.flush()
            fd = sys.stdin.fileno(); old = termios.tcgetattr(fd)
            tty.setraw(fd); key = sys.stdin.buffer.raw.read(1); termios.tcsetattr(fd, termios.TCSADRAIN, old)
            sys.stdout.write("\\b" * 9 + " " * 9 + "\\b" * 9)
            if key == b"q": return
        print(line)
while True:
    try: command = input(sys.argv[1] + mode + "# ").strip()
    except EOFError: break
    except KeyboardInterrupt: print(); continue
    if command == "show long": page(["line %d" % (n + 1) for n in range(300)])
    elif command == "configure terminal": mode = "(config)"
    elif command == "router ospf": mode = "(config-router)"
    elif command == "end": mode = ""
    elif command: print("% Unknown command: " + command)
`;

const shells = [
  { name: "dash", command: "sh", env: { PS1: "$ " } },
  { name: "busybox sh", command: "busybox sh", env: {} },
  { name: "bash", command: "bash --norc --noprofile", env: {} },
  { name: "bash on a dumb terminal", command: "bash --norc --noprofile", env: { TERM: "dumb" } },
  {
    name: "bash with a coloured prompt and a window title",
    command: "bash --norc --noprofile",
    env: { PS1: "\\[\\e]0;\\u@\\h\\a\\e[1;32m\\]\\u@box\\[\\e[0m\\]:\\w\\$ " },
  },
];

describe.each(shells)("$name", ({ command, env }) => {
  test("the output comes without echo and prompt", async () => {
    const result = await execCommand(onPty(command, env), { command: "echo one; echo two", timeoutMs: 10_000 });
    expect(result.output).toBe("one\ntwo");
  });

  test("several commands one after the other do not mix", async () => {
    const stream = onPty(command, env);
    for (const word of ["alpha", "beta", "gamma"]) {
      const { output } = await execCommand(stream, { command: `echo ${word}`, timeoutMs: 10_000 });
      expect(output).toBe(word);
    }
  });

  test("a command longer than the line is recognised in its echo", async () => {
    const words = Array.from({ length: 60 }, (_, index) => `w${index}`).join(" ");
    const { output } = await execCommand(onPty(command, env), { command: `echo ${words}`, timeoutMs: 10_000 });
    expect(output).toBe(words);
  });

  test("output without a line end is kept whole", async () => {
    const { output } = await execCommand(onPty(command, env), { command: "printf abc", timeoutMs: 10_000 });
    expect(output).toBe("abc");
  });

  test("a prompt that changes with the directory ends the command", async () => {
    const stream = onPty(command, env);
    expect((await execCommand(stream, { command: "cd /usr/lib", timeoutMs: 10_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "pwd", timeoutMs: 10_000 })).output).toBe("/usr/lib");
  });

  test("thousands of lines come complete", async () => {
    const { output } = await execCommand(onPty(command, env), { command: "seq 1 20000", timeoutMs: 20_000 });
    const lines = output.split("\n");
    expect(lines.length).toBe(20_000);
    expect(lines.at(-1)).toBe("20000");
  });

  test("a silent command is waited for, and one without output gives none", async () => {
    const stream = onPty(command, env);
    expect((await execCommand(stream, { command: "sleep 2; echo late", timeoutMs: 10_000 })).output).toBe("late");
    expect((await execCommand(stream, { command: "true", timeoutMs: 10_000 })).output).toBe("");
  });

  test("a command that does not end gives its output so far and is interrupted", async () => {
    const stream = onPty(command, env);
    const failure = await execCommand(stream, { command: "echo begin; sleep 60", timeoutMs: 1_500 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "console_timeout", data: { output: expect.stringMatching(/^begin\n?$/) } });
    expect((await execCommand(stream, { command: "echo again", timeoutMs: 10_000 })).output).toBe("again");
  });
});

test("a half-typed line of somebody else is not run", async () => {
  const stream = onPty("bash --norc --noprofile");
  const file = join(folder, "never");
  stream.write(`touch ${file}`);
  await execCommand(stream, { command: "true", timeoutMs: 10_000 });
  expect((await execCommand(stream, { command: `ls ${folder}`, timeoutMs: 10_000 })).output).not.toContain("never");
});

test("several lines are sent one by one, also through a here-document", async () => {
  const { output } = await execCommand(onPty("bash --norc --noprofile"), {
    command: "cat <<X\nhello\nworld\nX\necho done",
    timeoutMs: 10_000,
  });
  expect(output).toBe("hello\nworld\ndone");
});

test("less and more are paged through", async () => {
  for (const pager of ["more", "less"]) {
    const stream = onPty("bash --norc --noprofile");
    const { output } = await execCommand(stream, { command: `${pager} ${join(folder, "long.txt")}`, timeoutMs: 20_000 });
    expect(output.trim(), pager).toBe(long);
    expect((await execCommand(stream, { command: "echo after", timeoutMs: 10_000 })).output).toBe("after");
  }
});

describe("a router's command line", () => {
  test("its pager is paged through", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    const { output } = await execCommand(stream, { command: "show long", timeoutMs: 20_000 });
    expect(output).toBe(long);
  });

  test("a pager that somebody left open is left first", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    await execCommand(stream, { command: "end", timeoutMs: 10_000 });
    stream.write("show long\r");
    const { output } = await execCommand(stream, { command: "nonsense", timeoutMs: 20_000 });
    expect(output).toBe("% Unknown command: nonsense");
  });

  test("its configuration modes end commands, alone and in several lines", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    expect((await execCommand(stream, { command: "configure terminal\nrouter ospf\nend", timeoutMs: 10_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "configure terminal", timeoutMs: 10_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "bad", timeoutMs: 10_000 })).output).toBe("% Unknown command: bad");
  });
});

test("going from a shell into a router's command line and back ends each command", async () => {
  const stream = onPty("bash --norc --noprofile");
  expect((await execCommand(stream, { command: `python3 ${join(folder, "router.py")} r9`, timeoutMs: 20_000 })).output).toBe("");
  expect((await execCommand(stream, { command: "bad", timeoutMs: 10_000 })).output).toBe("% Unknown command: bad");
});

test("a login prompt is not taken for a prompt", async () => {
  const stream = onPty('sh -c \'printf "box login: "; while read x; do printf "box login: "; done\'');
  const failure = await execCommand(stream, { command: "id", timeoutMs: 5_000 }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "console_timeout", message: expect.stringContaining("login") });
});

test("a console that ends tells so", async () => {
  const stream = onPty("bash --norc --noprofile");
  const failure = await execCommand(stream, { command: "exit", timeoutMs: 10_000 }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "node_not_running" });
});
