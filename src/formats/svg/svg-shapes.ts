/** A shape element of an SVG, with its attributes and the properties of its style as they are written. */
export interface SvgShape {
  readonly element: "rect" | "ellipse" | "circle" | "line";
  readonly attributes: Readonly<Record<string, string>>;
}

/** A drawing of a lab with more is a picture. */
const maxCharacters = 262_144;

/**
 * Returns the shapes of an SVG, or of HTML with one, in their order. Reads only these elements, in one pass: users of other tools can put any markup
 * into their drawings.
 */
export function svgShapes(text: string): readonly SvgShape[] {
  if (text.length > maxCharacters) return [];
  return [...text.matchAll(/<(rect|ellipse|circle|line)(?=[\s/>])([^<>]*)>/gi)].map(([, element = "", inner = ""]) => ({
    element: element.toLowerCase() as SvgShape["element"],
    attributes: attributesOf(inner),
  }));
}

/** Returns the attributes of the first element with this name, or undefined. */
export function attributesIn(text: string, element: "div" | "svg"): Readonly<Record<string, string>> | undefined {
  const inner = new RegExp(`<${element}(?=[\\s/>])([^<>]*)>`, "i").exec(text.slice(0, maxCharacters))?.[1];
  return inner === undefined ? undefined : attributesOf(inner);
}

/** The properties of a style win, as in SVG. */
function attributesOf(inner: string): Readonly<Record<string, string>> {
  const pairs = [...inner.matchAll(/([a-z][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)].map(
    ([, name = "", double, single]) => [name.toLowerCase(), double ?? single ?? ""] as const,
  );
  const style = pairs.find(([name]) => name === "style")?.[1] ?? "";
  const properties = style.split(";").flatMap((property) => {
    const [name = "", value] = property.split(":", 2);
    return value === undefined ? [] : [[name.trim().toLowerCase(), value.trim()] as const];
  });
  return Object.fromEntries([...pairs.filter(([name]) => name !== "style"), ...properties]);
}
