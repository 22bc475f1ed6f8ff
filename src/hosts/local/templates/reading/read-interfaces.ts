import { formatSeparator } from "../../../../base/names/interface-names.ts";
import type { LocalTemplate } from "../template.ts";
import { given, type MapReader } from "./reader.ts";

/** Fixed names of the first interfaces, and a name with one or two numbers: "Mgmt1,Ethernet{1}", "Gi{0}/{0-4}", "Ethernet{0+4}". */
const interfaceFormat =
  /^(?:[A-Za-z0-9][A-Za-z0-9./_-]*, ?)*(?:[A-Za-z0-9][A-Za-z0-9./_-]*)?\{\d{1,4}(?:\+\d{1,2})?\}(?:[./_-][A-Za-z0-9./_-]*\{\d{1,4}(?:-\d{1,4})?\})?(?:[./_-][A-Za-z0-9./_-]*)?$/;
/** The longest name of an interface that the kernel takes. */
const maxKernelName = 15;

/** Returns the formats of an interface's names (interface-names.ts), that of the names inside the node first. */
export function readFormats(interfaces: MapReader | undefined, backend: LocalTemplate["backend"], base: LocalTemplate | undefined): string {
  const [inherited, ...inheritedAliases] = base?.ethFormat.split(formatSeparator) ?? [];
  const reader = interfaces && given(interfaces, "format", base);
  const own = reader?.text(interfaceFormat, 'a name with {0} or {1} at its end, such as "eth{0}"') ?? inherited ?? "";
  const names = own.split(",").map((name) => name.trim().replaceAll(/\{.*?\}/g, "10"));
  if ((backend === "namespace" || backend === "container") && names.some((name) => name.includes("/") || name.length > maxKernelName))
    reader?.fail(`format has names of the Linux kernel here: no slash, at most ${maxKernelName} characters; aliases has other names`);
  const aliases = interfaces
    ?.get("aliases")
    .optional()
    ?.list()
    .flatMap((alias) => alias.text(interfaceFormat, 'a name with {0} or {1} at its end, such as "ethernet-1/{1}"') ?? []);
  return [own, ...(aliases ?? inheritedAliases)].join(formatSeparator);
}
