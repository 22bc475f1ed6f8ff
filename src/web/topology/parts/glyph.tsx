import type { IconName } from "../graph/icons.ts";

/** Own drawings: a host's icons would have to be loaded from the host. */
const paths: Readonly<Record<IconName, string>> = {
  router: "M-12 0H12M-12 0l5-5M-12 0l5 5M12 0l-5-5M12 0l-5 5M0-12v6M0 12v-6",
  switch: "M-12-5H10l-5-5M12 5H-10l5 5",
  firewall: "M-12-9H12V9H-12ZM-12-3H12M-12 3H12M-4-9V-3M5-9V-3M-8-3V3M0-3V3M8-3V3M-4 3V9M5 3V9",
  server: "M-11-11H11V-2H-11ZM-11 2H11v9H-11ZM-7-6.500h.1M-7 6.500h.1",
  pc: "M-11-10H11V4H-11ZM0 4v6M-6 10H6",
  vm: "M-12-10H12V6H-12ZM-5 11H5M-3-6L5-2L-3 2Z",
  container: "M0-12L11-6V6L0 12L-11 6V-6ZM-11-6L0 0L11-6M0 0V12",
  cloud: "M-7 7H8a5 5 0 0 0 0-10a7 7 0 0 0-13-2a6 6 0 0 0-2 12Z",
  printer: "M-7-4V-11H7V-4M-11-4H11V6H-11ZM-6 2H6V11H-6Z",
  phone: "M-6-12H6V12H-6ZM-1 9H1",
  wireless: "M0 3V11M-6 11H6M-4 0a5 5 0 0 1 8 0M-8-4a11 11 0 0 1 16 0M-12-8a17 17 0 0 1 24 0",
  balancer: "M-12 0H-4M-4 0L9-8M-4 0H11M-4 0L9 8M9-8h-5M9-8v0M9 8h-5",
};

/** Draws the role of a node. */
export function Glyph({ icon }: { readonly icon: IconName }) {
  return <path class="glyph" d={paths[icon]} />;
}
