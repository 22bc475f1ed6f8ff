import { describe, expect, test } from "vitest";
import { commands, findCommand } from "../commands.ts";
import { parseArguments } from "./arguments.ts";

const parse = (line: string) => {
  const [name = "", ...rest] = line.split(" ");
  return parseArguments(findCommand(name), rest);
};

describe("arguments", () => {
  test("everything after -- is the command, including flags", () => {
    const args = parse("exec -t lab.yaml --node r1,r2 --node r3 -- ping -c 3 --help");
    expect([args.operands.join(" "), args.list("node"), args.text("topo"), args.has("help")]).toEqual([
      "ping -c 3 --help",
      ["r1", "r2", "r3"],
      "lab.yaml",
      false,
    ]);
  });

  test("a short flag has the meaning that its command defines", () => {
    expect(parse("exec -c uptime").text("command")).toBe("uptime");
    expect(parse("deploy -c -y").has("reconfigure")).toBe(true);
    expect(parse("plan -o json").text("format")).toBe("json");
  });

  test("short flags can be combined, the last one with its value", () => {
    expect(parse("deploy -tlab.yaml").text("topo")).toBe("lab.yaml");
    const together = parse("deploy -yqt lab.yaml");
    expect([together.has("yes"), together.has("quiet"), together.text("topo")]).toEqual([true, true, "lab.yaml"]);
  });

  test.each(["up", "plan", "deploy", "apply", "validate", "render", "graph"])("%s takes the lab's file without a flag", (name) => {
    const given = parse(`${name} campus.lw.yml`);
    expect([given.text("topo"), given.operands]).toEqual(["campus.lw.yml", []]);
    expect(() => parseArguments(findCommand(name), [""])).toThrow('"" is not expected here');
  });

  test.each([
    ["plan --prun", "did you mean --prune?"],
    ["plan --format yaml", '--format takes table or json, not "yaml"'],
    ["plan -qz", "unknown flag -z"],
    ["plan --output json", "did you mean --format json?"],
    ["stop --mode fast", "--mode takes graceful, poweroff, hibernate or auto"],
    ["plan --url --pin x", "--url needs a value: --url URL"],
    ["plan -t", "--topo needs a value: --topo FILE"],
    ["plan --prune=1", "--prune takes no value"],
    ["destroy extra", '"extra" is not expected here see labwright destroy --help'],
    ["destroy campus.lw.yml", '"campus.lw.yml" is not expected here did you mean labwright destroy -t campus.lw.yml?'],
    ["plan campus.lw.yml other.lw.yml", '"other.lw.yml" is not expected here'],
    ["plan campus.lw.yml -t other.lw.yml", "the lab's file is given twice campus.lw.yml, and with --topo: give one of the two"],
    ["inspect /courses/bgp-1", "did you mean labwright inspect --lab /courses/bgp-1?"],
    ["stop campus.lw.yml", '"campus.lw.yml" is not expected here did you mean labwright stop -t campus.lw.yml?'],
    ["console r1 r2", '"r2" is not expected here'],
  ])("%s is refused with the reason", (line, text) => {
    let shown = "";
    try {
      parse(line);
    } catch (error) {
      const { message, hint } = error as { message: string; hint?: string };
      shown = `${message} ${hint ?? ""}`;
    }
    expect(shown).toContain(text);
  });

  test("a list flag without a value is refused: an empty variable of a script does not stand for all", () => {
    for (const empty of ["", ",", " "]) {
      expect(() => parseArguments(findCommand("stop"), ["--node", empty]).list("node")).toThrow("--node has no value");
      expect(() => parseArguments(findCommand("stop"), [empty])).toThrow("is not expected here");
    }
    expect(parseArguments(findCommand("stop"), ["--node", "r1,,r2"]).list("node")).toEqual(["r1", "r2"]);
  });

  test("a time is a positive number of seconds, or has a unit", () => {
    for (const [text, ms] of [
      ["500ms", 500],
      ["30s", 30_000],
      ["1.5m", 90_000],
      ["1h", 3_600_000],
    ] as const)
      expect(parse(`plan --timeout ${text}`).milliseconds("timeout")).toBe(ms);
    expect(parse("plan --timeout 1.5").milliseconds("timeout")).toBe(1500);
    for (const wrong of ["0", "-1", "soon", "5d", "1e3", "s", "0s"])
      expect(() => parse(`plan --timeout=${wrong}`).milliseconds("timeout")).toThrow("seconds");
  });
});

describe("the command table", () => {
  test("command names are unique, and flags are unique within a command", () => {
    const names = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, flags } of commands) {
      const words = flags.flatMap(({ long, short }) => [long, ...(short === undefined ? [] : [short])]);
      expect(new Set(words).size, name).toBe(words.length);
    }
  });

  test("a file instead of a command suggests labwright up", () => {
    expect(() => findCommand("campus.lw.yml")).toThrow(expect.objectContaining({ hint: "did you mean labwright up campus.lw.yml?" }));
    expect(() => findCommand("deplyo")).toThrow(expect.objectContaining({ hint: "did you mean labwright deploy?" }));
  });

  test("every example is a valid call of its command", () => {
    for (const { name, example } of commands) {
      const line = /labwright (?:completion )?[^)]*/.exec(example)?.[0] ?? "";
      const [, command = "", ...rest] = line.split(" ");
      expect(command, example).toBe(name);
      expect(() => parseArguments(findCommand(command), rest), example).not.toThrow();
    }
  });
});
