import type { LocalTemplate } from "../template.ts";
import type { MapReader, Reader } from "./reader.ts";

/** Reads `console`. Omitted fields have the values of `base`. */
export function readConsole(console: MapReader, base?: LocalTemplate["console"]): LocalTemplate["console"] {
  const type =
    (base === undefined ? console.get("type") : console.get("type").optional())?.oneOf(["telnet", "serial", "none"]) ??
    base?.type ??
    "none";
  const prompt = console.get("prompt").optional()?.pattern() ?? base?.prompt;
  const login = console.get("login").optional()?.map(["username"], ["password"]);
  const username = login?.get("username").text() ?? "";
  const password = login?.get("password").optional()?.text();
  const account = login === undefined ? base?.login : { username, ...(password === undefined ? {} : { password }) };
  const pager = console.get("pager").optional()?.map(["pattern", "key"]);
  const named = pager?.get("key").text(/^(?:space|enter|\S)$/, "space, enter, or one character") ?? "";
  const key = named === "space" ? " " : named === "enter" ? "\r" : named;
  const pattern = pager?.get("pattern").pattern();
  return {
    type,
    argv: console.get("argv").optional()?.texts() ?? base?.argv ?? [],
    ...(prompt === undefined ? {} : { prompt }),
    ...(account === undefined ? {} : { login: account }),
    ...(pattern === undefined ? base?.pager !== undefined && { pager: base.pager } : { pager: { pattern, key } }),
  };
}

/** Reads `save`: how the configuration that runs in a node is read. */
export function readSave(
  reader: Reader,
  { savedConfig, argv }: { readonly savedConfig: string | undefined; readonly argv: readonly string[] },
): LocalTemplate["save"] {
  const save = reader.optional()?.map([], ["argv", "console", "print"]);
  if (save === undefined) return undefined;
  const program = save.get("argv").optional()?.texts();
  const command = save.get("console").optional()?.text();
  const print = save.get("print").optional()?.texts();
  if ([program, command, print].filter((one) => one !== undefined).length !== 1)
    reader.fail("save needs argv, console or print, one of them");
  if (print !== undefined && savedConfig !== undefined)
    reader.fail("save has print, whose output is the configuration: remove saved-config");
  if (print !== undefined) return { print };
  if (savedConfig === undefined) reader.fail("save needs saved-config, the path of the file that the node writes");
  if (command !== undefined && argv.length === 0) reader.fail("save has console, which needs argv of the console");
  if (command !== undefined) return { console: command };
  return program === undefined ? undefined : { argv: program };
}
