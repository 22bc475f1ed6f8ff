const SEGMENT = /^[A-Za-z0-9 ._-]{1,64}$/;
const MAX_SEGMENTS = 8;

/**
 * Parses the path of a lab on its host, such as /courses/bgp-1: 1–8 segments of letters, digits, space, dot, underscore and hyphen, 64 characters
 * each. Returns the path with its leading slash, which may be left out, or the problem.
 */
export function checkLabPath(text: string): { readonly path: string } | { readonly problem: string } {
  const segments = (text.startsWith("/") ? text.slice(1) : text).split("/");
  if (segments.length > MAX_SEGMENTS) return { problem: `a lab path has at most ${MAX_SEGMENTS} segments` };
  for (const segment of segments) {
    if (segment === "") return { problem: "a lab path has no empty segment" };
    if (segment === "." || segment === "..") return { problem: `a lab path has no segment ${JSON.stringify(segment)}` };
    if (!SEGMENT.test(segment)) {
      return { problem: "a segment of a lab path is 1–64 letters, digits, spaces, dots, underscores or hyphens" };
    }
  }
  return { path: `/${segments.join("/")}` };
}
