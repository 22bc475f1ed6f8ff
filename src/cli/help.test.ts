import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { flagsOf } from "./command.ts";
import { commands } from "./commands.ts";
import { completionScript } from "./completion.ts";
import { commandHelp, helpMarkdown, overview } from "./help.ts";

test("docs/cli.md is what the command table says (labwright help --markdown > docs/cli.md)", () => {
  expect(readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8")).toBe(helpMarkdown(commands));
});

test("every command is in the overview, and its help names its flags and has its example", () => {
  for (const command of commands) {
    expect(overview(commands)).toContain(`  ${command.name} `);
    const help = commandHelp(command);
    expect(help).toContain(command.example);
    if (command.raw !== true) for (const { long } of flagsOf(command)) expect(help).toContain(`--${long}`);
  }
});

test("bash takes its completion script and completes commands, flags and their values", () => {
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
});

test("the scripts for zsh and fish name every command and flag", () => {
  for (const shell of ["zsh", "fish"] as const) {
    const script = completionScript(shell, commands);
    for (const command of commands) {
      expect(script).toContain(command.name);
      for (const { long } of flagsOf(command)) expect(script).toContain(long);
    }
  }
});
