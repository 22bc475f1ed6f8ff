import { createHash } from "node:crypto";
import type { ConfigProblem } from "../../host-configs.ts";
import type { LocalImage } from "../images/images.ts";
import { FairPlaces } from "../sync/fair-places.ts";
import { commandHint } from "./command-hints.ts";
import { runVtysh } from "./run-vtysh.ts";

/** vtysh reads lines of at most 4096 bytes. */
const maxLineBytes = 4_000;
/** Problems of one configuration that are reported at most. */
const maxProblems = 100;
/** Wrong lines for which vtysh lists its commands at most: a list has up to 100 kB. */
const maxHints = 16;
/** Maximum number of simultaneous checks, of all users. */
const places = new FairPlaces(2);
/**
 * Results by user, image and text: a lab is checked by validate, by plan and by deploy. Users share none, because configurations of one check may disturb
 * each other.
 */
const results = new Map<string, readonly ConfigProblem[]>();
const maxResults = 2_000;

/** Prints one line, `  (config)  banner motd line LINE...`, after the list before it. */
const endOfList = "find ^banner motd line";

/** Leads vtysh back to the top level, even if the configuration before has left it. */
const reset = ["configure terminal", "hostname labwright"];

/** Returns the problems of each FRR configuration. One process of vtysh checks all of them; a second one lists its commands if any line is wrong. */
export async function checkConfigs(
  image: Pick<LocalImage, "layers" | "rootfs" | "digest">,
  texts: readonly string[],
  user: string,
): Promise<readonly (readonly ConfigProblem[])[]> {
  const keys = texts.map((text) => createHash("sha256").update(`${user}\0${image.digest}\0`).update(text).digest("hex"));
  const left = new Map<string, string>();
  for (const [i, key] of keys.entries()) if (!results.has(key)) left.set(key, texts[i]!);
  const fresh = new Map<string, readonly ConfigProblem[]>();
  if (left.size > 0) {
    const found = await places.run(user, () => checked(image, [...left.values()]));
    for (const [i, key] of [...left.keys()].entries()) fresh.set(key, found[i]!);
  }
  const answer = keys.map((key) => results.get(key) ?? fresh.get(key) ?? []);
  for (const [key, problems] of fresh) {
    results.set(key, problems);
    if (results.size > maxResults) results.delete(results.keys().next().value!);
  }
  return answer;
}

async function checked(
  image: Pick<LocalImage, "layers" | "rootfs">,
  texts: readonly string[],
): Promise<readonly (readonly ConfigProblem[])[]> {
  const configs = texts.map((text) => outsideOspf6(withoutLdpFamilies(text.split(/\r?\n/))).map(asChecked));
  const wrong = complaints(await runVtysh(image, joined(configs)), configs);
  const commands = wrong.some((lines) => lines.size > 0) ? await commandsAt(image, configs, wrong) : new Map<string, readonly string[]>();
  return configs.map((lines, i) => problemsOf(texts[i]!.split(/\r?\n/), lines, wrong[i]!, (line) => commands.get(`${i}:${line}`) ?? []));
}

/**
 * Replaces lines that are not checked. The boot script removes `exit`: each daemon reads the whole file, and would leave the configuration at the end of
 * an unknown section. Commands of vtysh that print, or send the output elsewhere, would disturb the check, and configure nothing.
 */
function asChecked(line: string): string {
  return /^exit(-vrf)?$|^\s*(list|find|show|output)\b/.test(line) || Buffer.byteLength(line) > maxLineBytes ? "!" : line;
}

/** Replaces the address families of LDP: ldpd reads them from a configuration, but vtysh of FRR 8.4 does not know them there. */
function withoutLdpFamilies(lines: readonly string[]): readonly string[] {
  let [inLdp, inFamily] = [false, false];
  return lines.map((line) => {
    if (/^[^\s!]/.test(line)) [inLdp, inFamily] = [/^mpls ldp\b/.test(line), false];
    const begins = inLdp && /^\s+address-family\b/.test(line);
    const isInside = inFamily || begins;
    inFamily = isInside && !/^\s+exit-address-family\b/.test(line);
    return isInside ? "!" : line;
  });
}

/**
 * Writes interfaces that follow OSPFv3 in a longer form: there, FRR 8.4 has a command `interface NAME area AREA`, and takes the next `interface NAME` for a
 * part of that. The boot script of routers ends the section before.
 */
function outsideOspf6(lines: readonly string[]): readonly string[] {
  let inOspf6 = false;
  return lines.map((line) => {
    if (!/^[^\s!]/.test(line) || /^exit\s*$/.test(line)) return line;
    const isPlain = inOspf6 && /^interface \S+\s*$/.test(line);
    inOspf6 = /^router ospf6\b/.test(line);
    return isPlain ? `${line.trimEnd()} vrf default` : line;
  });
}

function joined(configs: readonly (readonly string[])[]): string {
  return configs.map((lines) => [...reset, ...lines, ""].join("\n")).join("");
}

/** Returns, for each configuration, index of a wrong line → vtysh's complaint. */
function complaints(output: string, configs: readonly (readonly string[])[]): readonly Map<number, string>[] {
  const starts: number[] = [];
  let next = 0;
  for (const lines of configs) {
    starts.push(next + reset.length);
    next += reset.length + lines.length;
  }
  const found = configs.map(() => new Map<number, string>());
  let at = 0;
  for (const [, number, words] of output.matchAll(/^line (\d+): (?:% )?([A-Za-z ]+)\[/gm)) {
    const index = Number(number) - 1;
    while (at + 1 < starts.length && index >= starts[at + 1]! - reset.length) at += 1;
    const line = index - starts[at]!;
    if (line >= 0 && line < configs[at]!.length) found[at]!.set(line, words!.trim());
  }
  return found;
}

/** Returns the commands that vtysh has in place of the first wrong lines: `configuration:line`, both from 0 → commands. */
async function commandsAt(
  image: Pick<LocalImage, "layers" | "rootfs">,
  configs: readonly (readonly string[])[],
  wrong: readonly ReadonlyMap<number, string>[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const asked: string[] = [];
  const parts = configs.flatMap((lines, i) => {
    if (wrong[i]!.size === 0 || asked.length >= maxHints) return [];
    return [
      lines.flatMap((line, index) => {
        if (!wrong[i]!.has(index)) return [line];
        if (asked.length >= maxHints) return [];
        asked.push(`${i}:${index}`);
        return ["list", endOfList];
      }),
    ];
  });
  const output = await runVtysh(image, [...reset, "list", endOfList, joined(parts)].join("\n"));
  const [top = "", ...lists] = output.split(/^ {2}\(config\) .*$/m);
  // A place without one of the two commands: which list belongs to which line is not known.
  if (lists.length !== asked.length + 1) return new Map();
  const commandsOf = (list: string) => list.split("\n").flatMap((line) => (line.startsWith("    ") ? [line.trim()] : []));
  const topCommands = commandsOf(top);
  return new Map(
    asked.map((place, i) => {
      const [config = 0, line = 0] = place.split(":").map(Number);
      const here = commandsOf(lists[i] ?? "");
      // vtysh takes a line of the top level also inside a section, and ends the section.
      return [place, /^\s/.test(configs[config]?.[line] ?? "") ? here : [...here, ...topCommands]];
    }),
  );
}

const meanings: Readonly<Record<string, string>> = {
  "Unknown command": "FRR does not know this command here and leaves the line out",
  "Command incomplete": "the command is not complete, and FRR leaves the line out",
  "Ambiguous command": "the command is ambiguous, and FRR leaves the line out",
};

function problemsOf(
  original: readonly string[],
  lines: readonly string[],
  wrong: ReadonlyMap<number, string>,
  commandsAt: (line: number) => readonly string[],
): readonly ConfigProblem[] {
  const long = original.flatMap((line, index) =>
    Buffer.byteLength(line) > maxLineBytes
      ? [{ line: index + 1, problem: `the line has more than the ${maxLineBytes} bytes that FRR reads` }]
      : [],
  );
  const unknown = [...wrong].map(([index, words]): ConfigProblem => {
    const found = [...lines[index]!.matchAll(/\S+/g)];
    const { word, hint } = commandHint(
      found.map(([text]) => text),
      commandsAt(index),
    );
    const column = found[word]?.index;
    return {
      line: index + 1,
      ...(column === undefined ? {} : { column: column + 1 }),
      problem: meanings[words] ?? "FRR does not accept this line",
      ...(hint === undefined ? {} : { hint }),
    };
  });
  return [...long, ...unknown].sort((a, b) => a.line - b.line).slice(0, maxProblems);
}
