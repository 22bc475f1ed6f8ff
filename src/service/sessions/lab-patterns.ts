const segmentPattern = /^[A-Za-z0-9 ._*?-]{1,64}$/;
const maxSegments = 8;

/**
 * Parses a pattern of lab paths, such as /ci/* or /courses/**: a path in which * stands for any characters of a segment, ? for one, and the segment ** for
 * any number of segments, also none. Returns the pattern with its leading slash, which may be left out, or the problem.
 */
export function checkLabPattern(text: string): { readonly pattern: string } | { readonly problem: string } {
  const segments = (text.startsWith("/") ? text.slice(1) : text).split("/");
  if (segments.length > maxSegments) return { problem: `a pattern of labs has at most ${maxSegments} segments` };
  for (const segment of segments) {
    if (segment === "." || segment === ".." || !segmentPattern.test(segment)) {
      return { problem: `a pattern of labs is a path such as /ci/* with *, ? and **, not ${JSON.stringify(text)}` };
    }
  }
  return { pattern: `/${segments.filter((one, at) => one !== "**" || segments[at + 1] !== "**").join("/")}` };
}

/** Returns whether a lab path matches a checked pattern. */
export function matchesPath(pattern: string, path: string): boolean {
  return matchesFrom(pattern.slice(1).split("/"), path.slice(1).split("/"));
}

function matchesFrom(patterns: readonly string[], segments: readonly string[]): boolean {
  const [pattern, ...rest] = patterns;
  if (pattern === undefined) return segments.length === 0;
  // At most 8 segments: few combinations.
  if (pattern === "**") return segments.some((_segment, at) => matchesFrom(rest, segments.slice(at))) || matchesFrom(rest, []);
  const [segment, ...more] = segments;
  return segment !== undefined && matchesSegment(pattern, segment) && matchesFrom(rest, more);
}

/** Takes time proportional to the product of both lengths, unlike a regular expression with several stars. */
function matchesSegment(pattern: string, segment: string): boolean {
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (at < segment.length) {
    const wanted = pattern[from];
    if (wanted === "*") {
      star = from;
      resume = at;
      from += 1;
    } else if (wanted === "?" || wanted === segment[at]) {
      from += 1;
      at += 1;
    } else if (star >= 0) {
      resume += 1;
      at = resume;
      from = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(from));
}
