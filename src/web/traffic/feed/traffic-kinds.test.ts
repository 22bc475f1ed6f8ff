import { expect, test } from "vitest";
import { filterKinds, kindOf, protocolKinds } from "./traffic-kinds.ts";

const isColor = (text: string) => /^#[0-9a-f]{6}$/.test(text);

test("a filter has its own colour if it is valid, otherwise a different one of the palette", () => {
  const kinds = filterKinds(
    [
      { name: "a", color: "#ff8800", match: "arp" },
      { name: "b", match: "icmp" },
      { name: "c", color: "no colour", match: "tcp" },
    ],
    isColor,
  );
  expect(kinds.map(({ key }) => key)).toEqual(["filter:a", "filter:b", "filter:c"]);
  expect(kinds[0]!.color).toBe("#ff8800");
  expect(new Set(kinds.map(({ color }) => color)).size).toBe(3);
  expect(kinds.every(({ color }) => isColor(color))).toBe(true);
});

test("the colour of a packet is that of its filter, else of its tunnel, else of its innermost known protocol", () => {
  const kind = (protocols: string, filter: string | null = null) => kindOf({ protocols: protocols.split(" "), filter });
  expect(kind("eth ip icmp", "ospf")).toBe("filter:ospf");
  expect(kind("eth ip tcp bgp")).toBe("protocol:bgp");
  expect(kind("eth vlan arp")).toBe("protocol:arp");
  expect(kind("eth llc stp")).toBe("protocol:stp");
  expect(kind("eth ip udp bfd")).toBe("protocol:bfd");
  expect(kind("eth ipv6 icmpv6")).toBe("protocol:icmp");
  expect(kind("eth mpls ip tcp bgp")).toBe("protocol:mpls");
  expect(kind("eth ip udp vxlan")).toBe("protocol:vxlan");
  expect(kind("eth ip udp")).toBe("protocol:udp");
  expect(kind("eth ip sctp")).toBe("protocol:other");
  expect(kind("eth")).toBe("protocol:other");
});

/** sRGB as linear light. */
function linear(color: string): readonly [number, number, number] {
  const part = (at: number) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const [r, g, b] = linear(color);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

/** Position in OKLab, where distances are differences that people see. */
function oklab(color: string): readonly number[] {
  const [r, g, b] = linear(color);
  const l = Math.cbrt(0.4122 * r + 0.5363 * g + 0.0514 * b);
  const m = Math.cbrt(0.2119 * r + 0.6807 * g + 0.1074 * b);
  const s = Math.cbrt(0.0883 * r + 0.2817 * g + 0.63 * b);
  return [0.2105 * l + 0.7936 * m - 0.0041 * s, 1.978 * l - 2.4286 * m + 0.4506 * s, 0.0259 * l + 0.7828 * m - 0.8087 * s];
}

test("the colours of protocols are visible on the paper of both themes, and differ from each other", () => {
  const colors = protocolKinds.map(({ color }) => color);
  for (const color of colors) for (const paper of ["#ffffff", "#1c222a"]) expect(contrast(color, paper)).toBeGreaterThan(3);
  for (const [index, color] of colors.entries()) {
    for (const other of colors.slice(0, index)) {
      const [a, b] = [oklab(color), oklab(other)];
      expect(Math.hypot(...a.map((value, at) => value - b[at]!)), `${color} and ${other}`).toBeGreaterThan(0.08);
    }
  }
});
