import { sampleLabs } from "./labs.ts";
import type { Random } from "./random.ts";

const tokens = /[A-Za-z0-9_.-]+|\s+|./gsu;

/** Values that YAML parsers, and the code that reads their output, handle wrongly. */
const strange: readonly string[] = [
  "*a",
  "&a ",
  "*router",
  "<<: ",
  "<<: *router\n",
  "!!binary ",
  "!!js/function ",
  "!!set ",
  "!<tag:x> ",
  "!!str ",
  "? ",
  "- ",
  ": ",
  "{",
  "}",
  "[",
  "]",
  ",",
  '"',
  "'",
  "|",
  ">-",
  "|9\n",
  "#",
  "%YAML 1.1\n---\n",
  "\n---\n",
  "\n...\n",
  "\t",
  "\r",
  "\r\n",
  "\n",
  "\n  ",
  "\0",
  "\u0085",
  "\u2028",
  "\ufeff",
  "\ud83d",
  "0x1F",
  "0o17",
  "1e999",
  "-1",
  "0",
  "99999999999999999999",
  "4294967296",
  ".nan",
  "-.inf",
  "~",
  "null",
  "yes",
  "2026-01-01",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  "eth99999",
  "eth-1",
  "a:eth0",
  '"a:b:c"',
  "x".repeat(70),
];

/** A lab's text with up to `most` changes, by tokens and by lines. */
export function mutateYaml(random: Random, yaml: string, most = 4): string {
  let text = yaml;
  for (let left = 1 + random.int(most); left > 0; left--) text = random.chance(0.65) ? changeToken(random, text) : changeLine(random, text);
  return text;
}

function changeToken(random: Random, text: string): string {
  const parts = text.match(tokens) ?? [];
  const at = random.int(Math.max(1, parts.length));
  switch (random.int(6)) {
    case 0:
      parts.splice(at, 1);
      break;
    case 1:
      parts.splice(at, 0, parts[at] ?? "");
      break;
    case 2: {
      const other = random.int(Math.max(1, parts.length));
      [parts[at], parts[other]] = [parts[other] ?? "", parts[at] ?? ""];
      break;
    }
    case 3:
      parts.splice(at, 0, random.pick(strange));
      break;
    default:
      parts[at] = random.pick(strange);
  }
  return parts.join("");
}

function changeLine(random: Random, text: string): string {
  const lines = text.split("\n");
  const at = random.int(lines.length);
  const line = lines[at] ?? "";
  switch (random.int(7)) {
    case 0:
      lines.splice(at, 1);
      break;
    case 1:
      lines.splice(at, 0, line);
      break;
    case 2:
      lines[at] = `${" ".repeat(1 + random.int(4))}${line}`;
      break;
    case 3:
      lines[at] = line.trimStart();
      break;
    case 4:
      lines.splice(at, random.int(lines.length));
      break;
    case 5: {
      const other = random.pick(sampleLabs).yaml.split("\n");
      const from = random.int(other.length);
      lines.splice(at, 0, ...other.slice(from, from + 1 + random.int(8)));
      break;
    }
    default:
      lines.splice(at, 0, ...Array.from({ length: 1 + random.int(6) }, (_, level) => `${" ".repeat(level)}${random.pick(strange)}:`));
  }
  return lines.join("\n");
}
