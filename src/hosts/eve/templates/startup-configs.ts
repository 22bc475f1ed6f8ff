/**
 * Whether nodes of a template take a startup config. Every template has the option in its form; only those with a script in the host's
 * config_scripts use it, and the interface does not report which. iol, dynamips and vpcs always do, docker never. The list of qemu templates is from Community
 * Edition 5. For other templates a config is refused, because it would be stored but not used. guess ce6-startup-configs: the list holds for 6 and
 * Professional.
 */
export function takesStartupConfig(template: string, type: string): boolean {
  if (type === "docker") return false;
  return type !== "qemu" || scripted.has(template);
}

const scripted: ReadonlySet<string> = new Set([
  "asav",
  "csr1000v",
  "csr1000vng",
  "junipervrr",
  "mikrotik",
  "nxosv9k",
  "paloalto",
  "pfsense",
  "timos",
  "timoscpm",
  "titanium",
  "veos",
  "vios",
  "viosl2",
  "vmx",
  "vmxvcp",
  "vqfxre",
  "vsrx",
  "vsrxng",
  "xrv",
  "xrv9k",
]);
