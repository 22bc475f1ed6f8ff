/** Latin-1 from U+00A0 on, by HTML 4.01's names. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 " +
  "ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml " +
  "ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring " +
  "aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc " +
  "uuml yacute thorn yuml";

/** Some of the others; HTML 4.01 has 252 in all. */
const others = {
  OElig: 0x152,
  oelig: 0x153,
  Scaron: 0x160,
  scaron: 0x161,
  Yuml: 0x178,
  fnof: 0x192,
  circ: 0x2c6,
  tilde: 0x2dc,
  Alpha: 0x391,
  Beta: 0x392,
  Omega: 0x3a9,
  alpha: 0x3b1,
  beta: 0x3b2,
  gamma: 0x3b3,
  delta: 0x3b4,
  epsilon: 0x3b5,
  lambda: 0x3bb,
  mu: 0x3bc,
  pi: 0x3c0,
  omega: 0x3c9,
  ndash: 0x2013,
  mdash: 0x2014,
  lsquo: 0x2018,
  rsquo: 0x2019,
  sbquo: 0x201a,
  ldquo: 0x201c,
  rdquo: 0x201d,
  bdquo: 0x201e,
  bull: 0x2022,
  hellip: 0x2026,
  euro: 0x20ac,
  trade: 0x2122,
  larr: 0x2190,
  uarr: 0x2191,
  rarr: 0x2192,
  darr: 0x2193,
  harr: 0x2194,
  ne: 0x2260,
  le: 0x2264,
  ge: 0x2265,
};

/** Character → entity, for what PHP's htmlentities replaces beyond ASCII. */
export const namedEntities: ReadonlyMap<string, string> = new Map([
  ...latin.split(" ").map((name, index) => [String.fromCodePoint(0xa0 + index), `&${name};`] as const),
  ...Object.entries(others).map(([name, code]) => [String.fromCodePoint(code), `&${name};`] as const),
]);
