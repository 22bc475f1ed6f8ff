/**
 * The command lines of two makes of router, as far as their consoles differ from a shell's: `node router.fixture.ts ios|junos [login]`, on a
 * terminal. Line editing, prompts by mode, pagers, log lines in between, a login, a restart.
 */
import { setTimeout as wait } from "node:timers/promises";

const [kind = "ios", login] = process.argv.slice(2);
const out = (text: string) => process.stdout.write(text.replaceAll("\n", "\r\n"));
const long = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`);

const keys: string[] = [];
let wake = () => {};
process.stdin.setRawMode(true);
process.stdin.setEncoding("latin1").on("data", (typed: string) => {
  keys.push(...typed);
  wake();
});
async function key(): Promise<string> {
  while (keys.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return keys.shift()!;
}

/** Returns a typed line; undefined if it was cancelled. */
async function read(prompt: string, shown = true): Promise<string | undefined> {
  out(prompt);
  let line = "";
  for (;;) {
    const typed = await key();
    if (typed === "\r") {
      out("\n");
      return line;
    }
    if (typed === "\x03") {
      out("\n");
      return undefined;
    }
    if (typed === "\x15") {
      if (shown) out("\b \b".repeat(line.length));
      line = "";
    } else if (typed >= " ") {
      line += typed;
      if (shown) out(typed);
    }
  }
}

async function page(lines: readonly string[], question: (done: number) => string, wipe: (question: string) => string): Promise<void> {
  for (const [index, line] of lines.entries()) {
    if (index > 0 && index % 23 === 0) {
      const asked = question(Math.round((100 * index) / lines.length));
      out(asked);
      const answer = await key();
      out(wipe(asked));
      if (answer === "q" || answer === "\x03") return;
    }
    out(`${line}\n`);
  }
}

async function enter(users: string, secrets: string): Promise<void> {
  for (;;) {
    const user = await read(users);
    const password = await read(secrets, false);
    if (user === "lab" && password === "secret") return;
    out("% Login invalid\n\n");
  }
}

async function ios(): Promise<void> {
  let [name, mode, enabled] = ["sw", "", false];
  if (login !== undefined) {
    out("\n\nUser Access Verification\n\n");
    await enter("Username: ", "Password: ");
  }
  for (;;) {
    const line = await read(`${name}${mode}${enabled ? "#" : ">"}`);
    switch (line) {
      case undefined:
      case "":
        break;
      case "enable":
        enabled = true;
        break;
      case "enable secretly":
        if ((await read("Password: ", false)) === "secret") enabled = true;
        else out("% Bad secrets\n\n");
        break;
      case "configure terminal":
        out("Enter configuration commands, one per line.  End with CNTL/Z.\n");
        mode = "(config)";
        break;
      case "router ospf 1":
        mode = "(config-router)";
        break;
      case "hostname core":
        name = "core";
        break;
      case "end":
        mode = "";
        break;
      case "show long":
        await page(
          long,
          () => " --More-- ",
          (asked) => `${"\b".repeat(asked.length)}${" ".repeat(asked.length)}${"\b".repeat(asked.length)}`,
        );
        break;
      case "show prompts":
        out(`${name}#show clock\n12:00\n${name}>\n${name}(config)#\nend of it\n`);
        break;
      case "show slowly":
        for (const word of ["one ", "two ", "three\n", "", "four\n"]) {
          await wait(300);
          out(word);
        }
        break;
      case "shutdown":
        setTimeout(() => out(`\n%LINK-5-CHANGED: Interface Ethernet0, changed state to down\n${name}${mode}#`), 5);
        break;
      case "reload":
        enabled = false;
        mode = "";
        for (const word of ["System restarting", ".", ".", ".\n", "Loading image # 1 >", ">>\n\nPress RETURN to get started!"]) {
          await wait(450);
          keys.length = 0;
          out(word);
        }
        while ((await key()) !== "\r");
        out("\n");
        break;
      default:
        out("        ^\n% Invalid input detected at '^' marker.\n\n");
    }
  }
}

async function junos(): Promise<void> {
  let where: string | undefined;
  if (login !== undefined) await enter("r1 (ttyu0)\n\nlogin: ", "Password:");
  for (;;) {
    const line = await read(where === undefined ? "\n{master:0}\nlab@r1> " : `\n{master:0}[edit${where}]\nlab@r1# `);
    switch (line) {
      case undefined:
      case "":
        break;
      case "configure":
        out("Entering configuration mode\n");
        where = "";
        break;
      case "edit interfaces":
        where = " interfaces";
        break;
      case "exit configuration-mode":
        out("Exiting configuration mode\n");
        where = undefined;
        break;
      case "show long":
        await page(
          long,
          (done) => `---(more ${done}%)---`,
          (asked) => `\r${" ".repeat(asked.length)}\r`,
        );
        break;
      default:
        out("                ^\nunknown command.\n");
    }
  }
}

await (kind === "ios" ? ios() : junos());
