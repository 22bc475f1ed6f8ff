import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { ConsoleHub } from "../stream/hub.ts";
import { execCommand } from "./exec.ts";
import { endPrograms, onPty } from "./pty.fixture.ts";

afterAll(endPrograms);

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
  writeFileSync(join(folder, "noise.bin"), Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7919 + (index >> 3)) % 256)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const long = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n");

/** A command line like a router's: readline with its prompt by mode, a pager that erases itself, without `?`. */
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

describe.concurrent.each(shells)("$name", ({ command, env }) => {
  test("the output comes without echo and prompt", async () => {
    const result = await execCommand(onPty(command, env), { command: "echo one; echo two", timeoutMs: 30_000 });
    expect(result.output).toBe("one\ntwo");
  });

  test("several commands one after the other do not mix", async () => {
    const stream = onPty(command, env);
    for (const word of ["alpha", "beta", "gamma"]) {
      const { output } = await execCommand(stream, { command: `echo ${word}`, timeoutMs: 30_000 });
      expect(output).toBe(word);
    }
  });

  test("a command longer than the line is recognised in its echo", async () => {
    const words = Array.from({ length: 60 }, (_, index) => `w${index}`).join(" ");
    const { output } = await execCommand(onPty(command, env), { command: `echo ${words}`, timeoutMs: 30_000 });
    expect(output).toBe(words);
  });

  test("output without a line end is kept whole", async () => {
    const { output } = await execCommand(onPty(command, env), { command: "printf abc", timeoutMs: 30_000 });
    expect(output).toBe("abc");
  });

  test("a prompt that changes with the directory ends the command", async () => {
    const stream = onPty(command, env);
    expect((await execCommand(stream, { command: "cd /usr/lib", timeoutMs: 30_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "pwd", timeoutMs: 30_000 })).output).toBe("/usr/lib");
  });

  test("thousands of lines come complete", async () => {
    const { output } = await execCommand(onPty(command, env), { command: "seq 1 20000", timeoutMs: 20_000 });
    const lines = output.split("\n");
    expect(lines.length).toBe(20_000);
    expect(lines.at(-1)).toBe("20000");
  });

  test("a silent command is waited for, and one without output gives none", async () => {
    const stream = onPty(command, env);
    expect((await execCommand(stream, { command: "sleep 2; echo late", timeoutMs: 30_000 })).output).toBe("late");
    expect((await execCommand(stream, { command: "true", timeoutMs: 30_000 })).output).toBe("");
  });

  test("a command that does not end gives its output so far and is interrupted", async () => {
    const stream = onPty(command, env);
    // Enough for the echo on a busy machine.
    const failure = await execCommand(stream, { command: "echo begin; sleep 60", timeoutMs: 8_000 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "console_timeout", data: { output: expect.stringMatching(/^begin\n?$/) } });
    expect((await execCommand(stream, { command: "echo again", timeoutMs: 30_000 })).output).toBe("again");
  });
});

test("a line that another user has half typed is not run", async () => {
  const stream = onPty("bash --norc --noprofile");
  const file = join(folder, "never");
  stream.write(`touch ${file}`);
  await execCommand(stream, { command: "true", timeoutMs: 30_000 });
  expect((await execCommand(stream, { command: `ls ${folder}`, timeoutMs: 30_000 })).output).not.toContain("never");
});

test("several lines are sent one by one, also through a here-document", async () => {
  const { output } = await execCommand(onPty("bash --norc --noprofile"), {
    command: "cat <<X\nhello\nworld\nX\necho done",
    timeoutMs: 30_000,
  });
  expect(output).toBe("hello\nworld\ndone");
});

test("less and more are paged through", async () => {
  for (const pager of ["more", "less"]) {
    const stream = onPty("bash --norc --noprofile");
    const { output } = await execCommand(stream, { command: `${pager} ${join(folder, "long.txt")}`, timeoutMs: 20_000 });
    expect(output.trim(), pager).toBe(long);
    expect((await execCommand(stream, { command: "echo after", timeoutMs: 30_000 })).output).toBe("after");
  }
});

describe("a router's command line", () => {
  test("its pager is paged through", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    const { output } = await execCommand(stream, { command: "show long", timeoutMs: 20_000 });
    expect(output).toBe(long);
  });

  test("a pager that another user left open is closed first", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    await execCommand(stream, { command: "end", timeoutMs: 30_000 });
    stream.write("show long\r");
    const { output } = await execCommand(stream, { command: "nonsense", timeoutMs: 20_000 });
    expect(output).toBe("% Unknown command: nonsense");
  });

  test("its configuration modes end commands, alone and in several lines", async () => {
    const stream = onPty(`python3 ${join(folder, "router.py")} r1`);
    expect((await execCommand(stream, { command: "configure terminal\nrouter ospf\nend", timeoutMs: 30_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "configure terminal", timeoutMs: 30_000 })).output).toBe("");
    expect((await execCommand(stream, { command: "bad", timeoutMs: 30_000 })).output).toBe("% Unknown command: bad");
  });
});

test("going from a shell into a router's command line and back ends each command", async () => {
  const stream = onPty("bash --norc --noprofile");
  expect((await execCommand(stream, { command: `python3 ${join(folder, "router.py")} r9`, timeoutMs: 20_000 })).output).toBe("");
  expect((await execCommand(stream, { command: "bad", timeoutMs: 30_000 })).output).toBe("% Unknown command: bad");
});

test("a login prompt is not taken for a prompt", async () => {
  const stream = onPty('sh -c \'printf "box login: "; while read x; do printf "box login: "; done\'');
  const failure = await execCommand(stream, { command: "id", timeoutMs: 5_000 }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "console_timeout", message: expect.stringContaining("login") });
});

test("a console that ends is reported", async () => {
  const stream = onPty("bash --norc --noprofile");
  const failure = await execCommand(stream, { command: "exit", timeoutMs: 30_000 }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "node_not_running" });
});

const bash = "bash --norc --noprofile";
const exec = async (stream: Parameters<typeof execCommand>[0], command: string, timeoutMs = 30_000): Promise<string> =>
  (await execCommand(stream, { command, timeoutMs })).output;

describe.concurrent("output", () => {
  test("of ten megabytes comes in bounded time, cut where too much is kept", async () => {
    const { output, truncated } = await execCommand(onPty(bash), { command: "seq 1 1500000", timeoutMs: 60_000 });
    expect(truncated).toBe(true);
    expect(output.length).toBeGreaterThan(6 << 20);
    expect(output.startsWith("1\n2\n3\n")).toBe(true);
    const last = output.lastIndexOf("\n", output.lastIndexOf("\n") - 1);
    expect(output.slice(last + 1)).toMatch(/^\d+\n\d*$/);
  });

  test("of seven megabytes comes whole", async () => {
    const { output, truncated } = await execCommand(onPty(bash), { command: "seq 1 1000000", timeoutMs: 60_000 });
    expect([truncated, output.length, output.endsWith("\n999999\n1000000")]).toEqual([false, 6_888_895, true]);
  });

  test("that is one long line comes whole", async () => {
    const output = await exec(onPty(bash), "head -c 2000000 /dev/zero | tr '\\0' x; echo");
    expect(output.length).toBe(2_000_000);
  });

  test("of binary noise ends at the prompt, and the console is usable afterwards", async () => {
    // Without queries to the terminal, stops and restarts: the terminal handles those.
    const stream = onPty(bash);
    const noise = await exec(stream, `tr -d '\\005\\021\\023\\033' < ${join(folder, "noise.bin")}`);
    expect(noise.length).toBeGreaterThan(1_000);
    expect(await exec(stream, "echo after")).toBe("after");
  });

  test("with characters in several chunks is put together, and invalid bytes are shown as such", async () => {
    const stream = onPty(bash, { LANG: "C.UTF-8" });
    expect(await exec(stream, "printf '\\303'; sleep 0.2; printf '\\251\\360\\237'; sleep 0.2; printf '\\230\\200\\n'")).toBe("é😀");
    expect(await exec(stream, "printf 'a\\377b\\303(c\\n'")).toBe("a\ufffdb\ufffd(c");
  });

  test("that contains prompts ends at the last prompt", async () => {
    const stream = onPty(bash, { PS1: "box# " });
    expect(await exec(stream, "printf 'box# \\nbox# one\\nother> \\n$ '; sleep 1; echo two")).toBe("box# \nbox# one\nother> \n$ two");
  });
});

describe.concurrent("a console", () => {
  test("of 40 columns wraps the echo of a command, which is no output", async () => {
    for (const shell of [bash, "busybox sh"]) {
      const stream = onPty(shell, { PS1: "a-prompt-of-some-length$ " });
      await exec(stream, "stty cols 40 rows 10");
      const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
      expect(await exec(stream, `echo ${words}`), shell).toBe(words);
      expect(await exec(stream, "echo short"), shell).toBe("short");
    }
  });

  test("that is slow to echo and to answer is waited for", async ({ expect }) => {
    // Each byte is delayed in both directions, as on a line of 9600 bit/s. No process of its own, because a busy machine may delay it longer.
    const answers: Readonly<Record<string, string>> = { "": "", "show one": "one\r\ntwo\r\n", true: "" };
    const output: number[] = [];
    let line = "";
    let talking = false;
    const talk = () => {
      const byte = output.shift();
      talking = byte !== undefined;
      if (byte === undefined) return;
      stream.push(Buffer.from([byte]));
      setImmediate(talk);
    };
    const print = (text: string, ms: number) =>
      setTimeout(() => {
        output.push(...Buffer.from(text));
        if (!talking) talk();
      }, ms);
    const stream = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        done();
        for (const key of bytes.toString()) {
          if (key !== "\r") {
            line += key;
            print(key, 220);
            continue;
          }
          // Ctrl-U clears the line: the command is the text after the last one.
          const command = line.slice(line.lastIndexOf("\x15") + 1);
          line = "";
          print("\r\n", 220);
          print(`${answers[command] ?? `what is ${command}?\r\n`}slow$ `, command === "" ? 220 : 520);
        }
      },
    });
    expect(await exec(stream, "show one")).toBe("one\ntwo");
    expect(await exec(stream, "true")).toBe("");
  });

  test("of Python's own runs its statements, in several lines too", async () => {
    const stream = onPty("python3 -q");
    expect(await exec(stream, "print(6 * 7)")).toBe("42");
    expect(await exec(stream, "for i in range(3):\n    print(i)\n")).toBe("0\n1\n2");
    expect(await exec(stream, "1 / 0")).toContain("ZeroDivisionError");
    expect(await exec(stream, "x = 1")).toBe("");
  });

  test("whose prompt comes back later is waited for", async () => {
    const stream = onPty(`sh -c 'for i in 1 2 3 4; do echo booting $i; sleep 0.4; done; exec ${bash}'`, { PS1: "up$ " });
    expect(await exec(stream, "echo here")).toBe("here");
  });

  test("that does not take a whole line is reported, and the line is not run", async () => {
    const stream = onPty("dash", { PS1: "$ " });
    const failure = await execCommand(stream, { command: `echo ${"x".repeat(6000)}`, timeoutMs: 20_000 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "bad_request", data: { problems: [{ path: "/command" }] } });
    expect(await exec(stream, "echo after")).toBe("after");
  });

  test("whose work is cancelled reports the reason and the output so far, and is usable afterwards", async ({ expect }) => {
    const stream = onPty(bash);
    // The program itself prints: before it has the terminal, an interrupt would only reach the shell.
    const command = "sh -c 'echo begin; exec sleep 60'";
    for (const [reason, code] of [
      [new Failure("shutting_down", "the service goes down"), "shutting_down"],
      [undefined, "cancelled"],
    ] as const) {
      const cut = new AbortController();
      const work = execCommand(stream, { command, timeoutMs: 60_000, signal: cut.signal }).catch((error: unknown) => error);
      const seen: string[] = [];
      const look = (bytes: Buffer) => seen.push(bytes.toString());
      stream.on("data", look);
      await expect.poll(() => seen.join(""), { timeout: 10_000 }).toMatch(/begin\r\n/);
      stream.off("data", look);
      cut.abort(reason);
      expect(await work).toMatchObject({ code, data: { output: expect.stringContaining("begin") } });
    }
    expect(await exec(stream, "echo after")).toBe("after");
  });

  test("on which a person types runs only the lines of commands", async () => {
    const stream = onPty(bash, { PS1: "box$ " });
    const hub = new ConsoleHub({ open: async () => ({ stream }) });
    const [command, person] = [await hub.view({ terminal: false }), await hub.view()];
    person.resume();
    for (const word of ["one", "two", "three"]) {
      let keys = 0;
      const typing = setInterval(() => (keys++ < 20 ? person.write("~") : clearInterval(typing)), 10);
      const { output } = await execCommand(command, {
        command: `sleep 0.5; echo ${word}`,
        timeoutMs: 30_000,
        hold: () => hub.hold(command),
      });
      // The echo of the person's keys is in the output, but the keys are not part of the command.
      expect(output.replaceAll(/~|\n/g, "")).toBe(word);
    }
    hub.close();
  });
});
