import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { table } from "./table.ts";
import { openTerminal, paintChanges, type Terminal } from "./terminal.ts";
import { visible } from "./visible.ts";

test("text of a host or a node cannot move the cursor, clear the screen or reverse text", () => {
  const unsafe = "a\u001b[2Jb\u0007\u009b31mc\u202ed\u2066e\u2028f\rg";
  expect(visible(unsafe)).toBe("a\\u001b[2Jb\\u0007\\u009b31mc\\u202ed\\u2066e\\u2028f\\u000dg");
});

test("line ends, tabs and letters of all scripts are unchanged", () => {
  expect(visible("ü €\t😀\r\nשלום\n")).toBe("ü €\t😀\nשלום\n");
  expect(visible("\u001b[31mred")).toBe("\\u001b[31mred");
});

test("escaped JSON has the same value", () => {
  const data = { name: "a\u202eb\u009bc\u001b" };
  const shown = visible(JSON.stringify(data));
  expect(shown).not.toMatch(/[\u009b\u202e]/);
  expect(JSON.parse(shown)).toEqual(data);
});

test("a line end in a table cell does not start a new row", () => {
  const shown = table(["USER", "NAME"], [["admin", "x\nroot  y"]]);
  expect(shown.split("\n")).toHaveLength(2);
  expect(shown).toContain("x\\u000aroot  y");
});

async function written(write: (terminal: Terminal) => void): Promise<string> {
  const stream = () => Object.assign(new PassThrough(), { isTTY: true });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const { NO_COLOR, TERM } = process.env;
  delete process.env.NO_COLOR;
  process.env.TERM = "xterm";
  try {
    write(openTerminal({ stdin, stdout, stderr }, { color: true, quiet: false }));
  } finally {
    if (NO_COLOR !== undefined) process.env.NO_COLOR = NO_COLOR;
    if (TERM === undefined) delete process.env.TERM;
    else process.env.TERM = TERM;
  }
  stdout.end();
  stderr.end();
  return (await text(stdout)) + (await text(stderr));
}

test("text of a host or a node cannot use the styles of the command", async () => {
  const name = "r1\u001b[31m\u001b[2m";
  const cleaned = "r1\\u001b[31m\\u001b[2m";
  const shown = await written(({ print, note, complain, paint }) => {
    print(`${paint("green", name)} ${name}`);
    note(name);
    complain(`${paint("red", "error:")} ${name}`);
    print(paintChanges(paint, `+ node ${name}`));
  });
  const green = `\u001b[32m${cleaned}\u001b[39m ${cleaned}\n\u001b[32m+ node ${cleaned}\u001b[39m\n`;
  expect(shown).toBe(`${green}${cleaned}\n\u001b[31merror:\u001b[39m ${cleaned}\n`);
});

test("a redrawn screen has its styles and no mark of them", async () => {
  const shown = await written(({ redraw, paint }) => redraw(paint("bold", "campus")));
  expect(shown).toBe("\u001b[H\u001b[2J\u001b[1mcampus\u001b[22m\n");
});
