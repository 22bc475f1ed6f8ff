import { readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { NodeProcess, NodeProgram, ProcessEnd } from "../../host-processes.ts";
import { boot, childrenOf, failure, readText, sandboxBench, until } from "./sandbox.fixture.ts";
import type { Sandbox } from "./sandbox.ts";

const { create, node } = sandboxBench("process");

interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly end: Omit<ProcessEnd, "stream"> | undefined;
}

async function outcome(process: NodeProcess): Promise<Outcome> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  for await (const item of process.output) {
    if (item.stream === "end") {
      const { stream: _, ...end } = item;
      return { stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString(), end };
    }
    (item.stream === "stdout" ? stdout : stderr).push(Buffer.from(item.data));
  }
  return { stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString(), end: undefined };
}

const never = new AbortController().signal;

function start(sandbox: Sandbox, argv: readonly string[], more: Partial<NodeProgram> = {}, id = 1): Promise<NodeProcess> {
  return sandbox.process(id, { argv, ...more }, never);
}

async function run(sandbox: Sandbox, argv: readonly string[], more: Partial<NodeProgram> = {}): Promise<Outcome> {
  const process = await start(sandbox, argv, more);
  process.endInput();
  return outcome(process);
}

const sh = (script: string) => ["sh", "-c", script];

/** Command lines of the processes of a node, from the outside. */
function programsOf(sandbox: Sandbox): string[] {
  const all: string[] = [];
  const visit = (pid: number) => {
    for (const child of childrenOf(pid)) {
      const line = readText(`/proc/${child}/cmdline`).replaceAll("\0", " ").trim();
      if (line !== "") all.push(line);
      visit(child);
    }
  };
  visit(sandbox.pid);
  return all;
}

async function lab(): Promise<Sandbox> {
  const sandbox = await create();
  await boot(sandbox, [node(1), node(2)]);
  return sandbox;
}

describe("a program in a node", () => {
  test("reports its exit code, its signal and both outputs apart", async () => {
    const sandbox = await lab();
    const both = await run(sandbox, sh("echo out; echo err >&2; exit 7"));
    expect(both).toEqual({ stdout: Buffer.from("out\n"), stderr: "err\n", end: { exitCode: 7 } });
    expect((await run(sandbox, sh("kill -9 $$"))).end).toEqual({ signal: 9 });
    expect((await run(sandbox, ["true"])).end).toEqual({ exitCode: 0 });
    const missing = await run(sandbox, ["no-such-program"]);
    expect(missing).toMatchObject({ end: { exitCode: 127 }, stderr: "labwright: no-such-program: No such file or directory\n" });
    await expect(start(sandbox, ["true"], {}, 9)).rejects.toEqual(failure("node_not_found", /no such node/));
  });

  test("gets its arguments to the letter, its environment and its work directory", async () => {
    const sandbox = await lab();
    const odd = await run(sandbox, ["printf", "%s|", "a b", "", "$HOME", "'", '"', "*", "-n", "ä"]);
    expect(odd.stdout.toString()).toBe("a b||$HOME|'|\"|*|-n|ä|");
    const env = await run(sandbox, sh("pwd; echo $A; echo $PS1; echo $HOME"), { env: { A: "x=y z", PS1: "mine" }, cwd: "/etc" });
    expect(env.stdout.toString()).toBe("/etc\nx=y z\nmine\n/root\n");
    const nowhere = await run(sandbox, ["true"], { cwd: "/nowhere" });
    expect(nowhere).toMatchObject({ stderr: "labwright: /nowhere: No such file or directory\n", end: { exitCode: 126 } });
  });

  test("gets input as it is sent, also binary, and its end", async () => {
    const sandbox = await lab();
    const bytes = Buffer.from(Array.from({ length: 3 << 20 }, (_, i) => (i * 7 + (i >> 8)) & 255));
    const cat = await start(sandbox, ["cat"]);
    const all = outcome(cat);
    await cat.write(bytes);
    cat.endInput();
    const { stdout, end } = await all;
    expect(end).toEqual({ exitCode: 0 });
    expect(stdout.equals(bytes)).toBe(true);
    // A program that does not read its input.
    const head = await start(sandbox, ["true"]);
    await head.write(bytes);
    expect((await outcome(head)).end).toEqual({ exitCode: 0 });
  });

  test("passes its output to a function, which can hold it back", async () => {
    const sandbox = await lab();
    const bytes = Buffer.from(Array.from({ length: 3 << 20 }, (_, i) => (i * 7 + (i >> 8)) & 255));
    const cat = await start(sandbox, sh("echo no >&2; cat; exit 4"));
    const got: Buffer[] = [];
    const others: unknown[] = [];
    const listening = cat.listen!((item) => {
      if (item.stream !== "stdout") return others.push(item.stream === "stderr" ? String(item.data) : item);
      got.push(Buffer.from(item.data));
      if (got.length % 10 !== 0) return;
      listening.pause();
      setImmediate(() => listening.resume());
    });
    await cat.write(bytes);
    cat.endInput();
    await listening.ended;
    expect(Buffer.concat(got).equals(bytes)).toBe(true);
    expect(others).toEqual(["no\n", { stream: "end", exitCode: 4 }]);
    const killed = new AbortController();
    const endless = await sandbox.process(1, { argv: ["cat"] }, killed.signal);
    const { ended } = endless.listen!(() => {});
    killed.abort(new Error("over"));
    await expect(ended).rejects.toThrow("over");
  });

  test("waits for a slow reader of its output, and loses nothing", async () => {
    const sandbox = await lab();
    const program = await start(sandbox, sh("head -c 10485760 /dev/zero; touch /written"));
    await delay(300);
    expect((await run(sandbox, sh("test -e /written"))).end).toEqual({ exitCode: 1 });
    const { stdout, end } = await outcome(program);
    expect([stdout.length, end]).toEqual([10 << 20, { exitCode: 0 }]);
  });

  test("is killed at its time-out with all that it started", async () => {
    const sandbox = await lab();
    const script = "sleep 1001 & (sh -c 'sleep 1002 & sleep 1003') & timeout 900 sleep 1004 & echo go; wait";
    const { stdout, end } = await run(sandbox, sh(script), { timeoutMs: 500 });
    expect(stdout.toString()).toBe("go\n");
    expect(end).toEqual({ signal: 9, reason: "timeout" });
    await until(() => programsOf(sandbox).every((line) => !line.includes("sleep")));
  });

  test("is killed at its time-out with what left its session or its parent, also several generations, and daemons that go on starting others", async () => {
    const sandbox = await lab();
    const script = `(setsid sleep 1011 &)
setsid sh -c "trap '' TERM HUP; (setsid sh -c 'sleep 1012 & sleep 1013' &) ; sleep 1014" &
(setsid sh -c 'while :; do (setsid sleep 1015 &); sleep 0.01; done' > /dev/null 2>&1 &)
echo go; while :; do sleep 1; done`;
    const { stdout, end } = await run(sandbox, sh(script), { timeoutMs: 1000 });
    expect(stdout.toString()).toBe("go\n");
    expect(end).toEqual({ signal: 9, reason: "timeout" });
    await until(() => programsOf(sandbox).every((line) => !line.includes("sleep")));
  });

  test("leaves its daemons when it ends by itself", async () => {
    const sandbox = await lab();
    const sleeps = () => programsOf(sandbox).filter((line) => line.startsWith("sleep 102"));
    const script = "(setsid sleep 1021 > /dev/null 2>&1 &); sleep 1022 > /dev/null 2>&1 & echo done";
    expect((await run(sandbox, sh(script))).end).toEqual({ exitCode: 0 });
    await until(() => sleeps().length === 2);
    expect((await run(sandbox, sh("kill $(pidof sleep)"))).end).toEqual({ exitCode: 0 });
    await until(() => sleeps().length === 0);
  });

  test("ends when its client leaves", async () => {
    const sandbox = await lab();
    const left = new AbortController();
    const program = await sandbox.process(1, { argv: sh("sleep 1005 & sleep 1006") }, left.signal);
    await until(() => programsOf(sandbox).filter((line) => line.startsWith("sleep 100")).length === 2);
    left.abort();
    await expect(outcome(program)).rejects.toThrow("abort");
    await until(() => programsOf(sandbox).every((line) => !line.includes("sleep")));
  });

  test("gets signals", async () => {
    const sandbox = await lab();
    const program = await start(sandbox, sh("trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.05; done"));
    const seen: string[] = [];
    let end: unknown;
    for await (const item of program.output) {
      if (item.stream === "end") end = item.exitCode;
      else if (item.stream === "stdout") seen.push(item.data.toString());
      if (item.stream === "stdout" && seen.join("") === "ready\n") program.signal(10);
    }
    expect([seen.join(""), end]).toEqual(["ready\ngot\n", 3]);
  });

  test("reports the stop of its node", async () => {
    const sandbox = await lab();
    const program = await start(sandbox, ["sleep", "1007"]);
    const ending = outcome(program);
    await until(() => programsOf(sandbox).includes("sleep 1007"));
    await sandbox.stop([1], "kill", 0);
    expect((await ending).end).toEqual({ signal: 9, reason: "stopped" });
    await expect(start(sandbox, ["true"])).rejects.toEqual(failure("node_not_running", /does not run/));
  });

  test("has the terminal of an interactive program: size, ^C, exit code", async () => {
    const sandbox = await lab();
    const shell = await start(sandbox, ["sh"], { terminal: { columns: 100, rows: 30 }, env: { PS1: "ready> " } });
    let text = "";
    let end: unknown;
    const reading = (async () => {
      for await (const item of shell.output) {
        if (item.stream === "end") end = item.exitCode;
        else text += item.data.toString();
      }
    })();
    const typing = async (line: string, answer: RegExp) => {
      await shell.write(Buffer.from(line));
      await until(() => answer.test(text));
    };
    await until(() => text.includes("ready> "));
    await typing("stty size; tty\r", /30 100\r\n\/dev\/pts\/\d/);
    shell.resize({ columns: 61, rows: 21 });
    await typing("stty size\r", /21 61\r\n/);
    await typing("echo begin; sleep 1008; echo un''broken\r", /begin\r\n/);
    await until(() => programsOf(sandbox).includes("sleep 1008"));
    await typing("\x03", /\^C\r\n(.*\r\n)?ready> [^\r]*$/);
    expect(text).not.toContain("unbroken");
    await shell.write(Buffer.from("exit 5\r"));
    await reading;
    expect(end).toBe(5);
  });

  test("with a terminal ends when its client leaves, with the jobs of its shell", async () => {
    const sandbox = await lab();
    const shell = await start(sandbox, ["sh"], { terminal: { columns: 80, rows: 24 } });
    await shell.write(Buffer.from("trap '' HUP; sleep 1009 & sleep 1010\r"));
    await until(() => programsOf(sandbox).filter((line) => /^sleep 10(09|10)$/.test(line)).length === 2);
    shell.close();
    await until(() => programsOf(sandbox).every((line) => !line.includes("sleep")));
  });

  test("loses neither its output nor its end by input that comes after its end", async () => {
    const sandbox = await lab();
    const process = await start(sandbox, sh("echo out; exit 3"));
    await until(() => programsOf(sandbox).every((line) => !line.includes("echo out")));
    for (let count = 0; count < 3; count++) {
      await process.write(Buffer.from("late"));
      await delay(20);
    }
    process.endInput();
    expect(await outcome(process)).toEqual({ stdout: Buffer.from("out\n"), stderr: "", end: { exitCode: 3 } });
  });

  test("has no descriptor of the holder, and the confinement of the node", async () => {
    const sandbox = await lab();
    for (const terminal of [undefined, { columns: 80, rows: 24 }]) {
      const more = terminal === undefined ? {} : { terminal };
      const { stdout } = await run(
        sandbox,
        sh("ls -1 /proc/self/fd | tr '\\n' ' '; grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status"),
        more,
      );
      const inside = stdout.toString().replaceAll("\r", "");
      // 3 is the directory that ls reads.
      expect(inside).toMatch(/^0 1 2 3 /);
      const console = await sandbox.exec(1, sh("grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/1/status"));
      expect(inside.slice(inside.indexOf("CapEff"))).toBe(console.stdout);
    }
    const kinds = ["net", "mnt", "pid", "uts", "ipc", "cgroup", "user"];
    const ours = await run(sandbox, sh(`for n in ${kinds.join(" ")}; do readlink /proc/self/ns/$n; done`));
    const pid = initOf(sandbox, 1);
    expect(ours.stdout.toString().trim().split("\n")).toEqual(kinds.map((kind) => readlinkSync(`/proc/${pid}/ns/${kind}`)));
    expect((await run(sandbox, sh("cat /proc/self/cgroup"))).stdout.toString()).toBe(
      (await sandbox.exec(1, sh("cat /proc/1/cgroup"))).stdout,
    );
  });
});

/** The pid of a node's init on the machine. */
function initOf(sandbox: Sandbox, id: number): number | undefined {
  return childrenOf(sandbox.pid).find((pid) => readText(`/proc/${pid}/cmdline`).split("\0").includes(`node=${id}`));
}
