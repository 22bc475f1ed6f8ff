import { parseArguments } from "../extra-arguments.ts";
import {
  type ConfigDrive,
  type ConfigDriveSource,
  configDriveSources,
  cpuModelPattern,
  type VmTemplate,
  vmChoices,
  vmDefaults,
} from "../vm-template.ts";
import type { Reader } from "./reader.ts";

/** Reads `vm` and `ready` of a template file. Omitted fields have the values of `base`. */
export function readVm(reader: Reader, ready: Reader, base: VmTemplate = vmDefaults): VmTemplate {
  const words = [...Object.keys(vmChoices), "cpu-model", "arguments", "cpu", "ram", "config-drive"];
  const map = reader.optional()?.map([], words);
  const choice = <K extends keyof typeof vmChoices>(name: K) =>
    (map?.get(name).optional()?.oneOf<string>(vmChoices[name]) ?? base[name]) as VmTemplate[K];
  const extra = map?.get("arguments").optional();
  const argumentsText = extra?.string() ?? base.arguments;
  const parsed = parseArguments(argumentsText);
  if ("problem" in parsed) extra?.fail(`${parsed.problem}; ${parsed.hint}`);
  const drive = map?.get("config-drive").optional();
  const { configDrive, ...settings } = base;
  const inherited = drive !== undefined || configDrive === undefined ? settings : base;
  const said = ready.optional()?.map(["console"], ["failed"]);
  const pattern = said?.get("console").text(/^[^\n]+$/, "a pattern of one line");
  const failed = said
    ?.get("failed")
    .optional()
    ?.text(/^[^\n]+$/, "a pattern of one line");
  return {
    ...inherited,
    machine: choice("machine"),
    nic: choice("nic"),
    "disk-bus": choice("disk-bus"),
    video: choice("video"),
    accelerator: choice("accelerator"),
    firmware: choice("firmware"),
    "boot-from": choice("boot-from"),
    "guest-agent": choice("guest-agent"),
    "cpu-model": map?.get("cpu-model").optional()?.text(cpuModelPattern, "a CPU model, or auto") ?? base["cpu-model"],
    arguments: argumentsText,
    cpu: map?.get("cpu").optional()?.integer(1, 64) ?? base.cpu,
    ram: map?.get("ram").optional()?.integer(1, 1_048_576) ?? base.ram,
    ...(drive === undefined || drive.value === "none" ? {} : { configDrive: readDrive(drive) }),
    ...(pattern === undefined ? {} : { ready: pattern }),
    ...(failed === undefined ? {} : { failed }),
  };
}

function readDrive(reader: Reader): ConfigDrive {
  const map = reader.map(["label", "files"], ["bus"]);
  const files: Record<string, ConfigDriveSource> = {};
  const names = map.get("files").value;
  const keys = typeof names === "object" && names !== null ? Object.keys(names) : [];
  const entries = map.get("files").map([], keys);
  for (const name of keys) {
    const entry = entries.get(name);
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) entry.fail("a file name has letters, digits, '.', '_' and '-'");
    files[name] = entry.oneOf(configDriveSources) ?? "identity";
  }
  return {
    label: map.get("label").text(/^[A-Za-z0-9_-]{1,32}$/, "letters, digits, '_' and '-'") ?? "",
    bus: map.get("bus").optional()?.oneOf(["virtio", "cdrom"]) ?? "virtio",
    files,
  };
}
