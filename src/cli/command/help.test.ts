import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testedProgram } from "../../files/tested-program.fixture.ts";
import { commands } from "../commands.ts";
import { completionScript } from "../completion.ts";
import { flagsOf } from "./command.ts";
import { commandHelp, helpMarkdown, overview } from "./help.ts";

test("docs/cli.md is generated from the command table (labwright help --markdown > docs/cli.md)", () => {
  expect(readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8")).toBe(helpMarkdown(commands));
});

test("every command is in the overview, and its help contains its flags and its example", () => {
  for (const command of commands) {
    expect(overview(commands)).toContain(`  ${command.name} `);
    const help = commandHelp(command);
    expect(help).toContain(command.example);
    if (command.raw !== true) for (const { long } of flagsOf(command)) expect(help).toContain(`--${long}`);
  }
});

test("the bash script completes commands, flags and their values", () => {
  const complete = (...words: string[]) => {
    const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _labwright; echo "\${COMPREPLY[*]}"`;
    const script = `compopt() { :; }\n${completionScript("bash", commands)}\n${ask}`;
    return execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim();
  };
  expect(complete("labwright", "de")).toBe("deploy destroy");
  expect(complete("labwright", "apply", "--pr")).toBe("--prune");
  expect(complete("labwright", "recon", "")).not.toContain("--");
  expect(complete("labwright", "status", "--format", "j")).toBe("json");
  expect(complete("labwright", "completion", "z")).toBe("zsh");
  for (const flag of ["--format", "-o"]) {
    expect(complete("labwright", "inventory", flag, "")).toBe("ansible nornir pyats ssh-config hosts prometheus json");
    expect(complete("labwright", "inspect", flag, "")).toBe("table json");
  }
});

test("bash completes nodes, interfaces and tests from the lab's file, and nothing without a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "labwright-completion-"));
  const file = join(folder, "lab.yaml");
  const program = testedProgram("cli/main");
  writeFileSync(
    file,
    'name: x\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth1", "r2:eth0"]\n' +
      'tests:\n  - {name: "around $(touch made) by r2", from: h1, ping: 10.0.0.1}\n  - {name: direct, from: h1, ping: 10.0.0.1}\n',
  );
  const complete = (...words: string[]) => {
    const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _labwright; echo "\${COMPREPLY[*]}"`;
    const name = `labwright() { '${process.execPath}' '${program}' "$@"; }`;
    const script = `compopt() { :; }\n${name}\n${completionScript("bash", commands)}\n${ask}`;
    const env = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, LABWRIGHT_STATE_DIR: folder };
    return execFileSync("bash", ["-c", script], { encoding: "utf8", cwd: folder, env }).trim();
  };
  try {
    expect(complete("labwright", "console", "")).toBe("h1 r1 r2 kind:frr kind:linux");
    expect(complete("labwright", "stop", "-t", file, "--node", "r")).toBe("r1 r2");
    expect(complete("labwright", "exec", "kind:f")).toBe("kind:frr");
    expect(complete("labwright", "link", "r1:")).toBe("r1:eth1");
    expect(complete("labwright", "link", "--sus")).toBe("--suspend");
    const quoted = "around\\ \\$\\(touch\\ made\\)\\ by\\ r2";
    expect(complete("labwright", "test", "")).toBe(`${quoted} direct`);
    expect(complete("labwright", "test", "around\\ ")).toBe(quoted);
    expect(complete("labwright", "test", '"aro')).toBe("around $(touch made) by r2");
    expect(existsSync(join(folder, "made"))).toBe(false);
    // No service is known.
    expect(complete("labwright", "status", "--lab", "")).toBe("");
    writeFileSync(join(folder, "other.lw.yml"), "name: y\nnodes: {}\n");
    expect(complete("labwright", "logs", "")).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the scripts for zsh and fish contain every command and flag", () => {
  for (const shell of ["zsh", "fish"] as const) {
    const script = completionScript(shell, commands);
    for (const command of commands) {
      expect(script).toContain(command.name);
      for (const { long } of flagsOf(command)) expect(script).toContain(long);
    }
  }
});
