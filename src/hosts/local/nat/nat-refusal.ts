import { Failure } from "../../../contract/errors.ts";

/** Returns the failure of a lab whose nat networks the machine cannot give a way out, with its reason and what to do. */
export function natRefusal(networks: readonly string[], isRoot: boolean): Failure {
  const [reason, remedy] = isRoot
    ? ["nft or busybox's udhcpd does not work on this machine", "Install nftables and busybox, and restart the service"]
    : ["the service does not run as root", "Run the service as root"];
  const names = `network${networks.length === 1 ? "" : "s"} ${networks.join(", ")}`;
  const message = `${names}: type nat is not available, because ${reason}. ${remedy}, or use type bridge, which has no way out of the lab.`;
  return new Failure("unsupported", message, { data: { feature: "nat" } });
}
