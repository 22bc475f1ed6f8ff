import { expect, test } from "vitest";
import { natRefusal } from "./nat-refusal.ts";

test("a lab with a nat network is refused with the networks, the reason and the remedy", () => {
  expect(natRefusal(["inet"], false)).toMatchObject({
    code: "unsupported",
    message:
      "network inet: type nat is not available, because the service does not run as root. Run the service as root, or use type bridge, which has no way out of the lab.",
    data: { feature: "nat" },
  });
  expect(natRefusal(["a", "b"], true).message).toBe(
    "networks a, b: type nat is not available, because nft or busybox's udhcpd does not work on this machine. Install nftables and busybox, and restart the service, or use type bridge, which has no way out of the lab.",
  );
});
