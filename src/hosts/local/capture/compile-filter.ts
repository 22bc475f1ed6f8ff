import { Failure } from "../../../contract/errors.ts";
import type { LocalImage } from "../images/images.ts";
import { compilePcapFilter } from "./pcap-filter.ts";

/** Compiles a pcap filter for the tap and `packets/bpf.ts`. Throws bad_request if it does not compile. */
export async function compileFilter(images: readonly LocalImage[], filter: string, user: string): Promise<string> {
  const found = await compilePcapFilter(images, filter, user);
  if (found === undefined) throw new Failure("host_error", "no image on this host has a tcpdump, which compiles filters");
  if ("program" in found) return found.program;
  const { problem } = found;
  throw new Failure("bad_request", `filter: ${problem}`, { data: { problems: [{ path: "/filter", message: problem }] } });
}
