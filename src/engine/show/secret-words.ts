import { hidden } from "../model/sensitive.ts";

/** Words that a secret follows, also as the end of a longer word: mypassword, client_secrets. */
const joinable = "(?:pass[-_]?(?:word|wd|phrase|code)|secret|credential|token)s?";
/** Such words that must not be the end of another word, such as bypass or monkey. */
const whole =
  "(?:(?:ssh)?pass|pwd|communit(?:y|ies)|psk|authorization|bearer|md5" +
  "|(?:api|access|private|shared|preshared|secret|auth|encryption|master|session|wep|wpa)?key(?:-?(?:string|text|value|data|octet-string|hex|hexadecimal))?s?)";
/** password2, passwordHash, token_id, and secret-id if a colon or an equals sign follows. */
const suffix = "(?:hash|key|id|value|text|data|string)?\\d{0,9}(?:_\\w{0,64})?(?:-[\\w-]{1,64}(?=\\s{0,9}[\"']?\\s{0,9}[:=]))?";
const word = `(?:${joinable}|(?<![A-Za-z0-9])${whole})${suffix}`;

/** A word and the text between it and its secret: one character that is part of no word, then blanks, colons and equals signs. */
const secretWord = new RegExp(`${word}(?:[\\s:=]+|[^A-Za-z0-9_-][\\s:=]*)`, "gi");

/** Secrets that no such word precedes. The secret begins at the end of the match. */
const otherSecrets: readonly RegExp[] = [
  // A pre-shared key that is joined to its word.
  /(?<![A-Za-z0-9])psk(?=[^\s:=])/i,
  // SNMPv3 users: auth sha SECRET priv aes 128 SECRET.
  /(?<![A-Za-z0-9])(?:auth|priv)\s{1,9}(?:md5|sha|des|3des|aes)[\w-]{0,9}\s{1,9}(?=\S)/i,
  /(?<![A-Za-z0-9])snmp-server\s{1,9}host\s{1,9}\S{1,255}\s{1,9}(?=\S)/i,
  // First-hop redundancy: vrrp 1 authentication text SECRET. RIP: authentication string SECRET.
  /(?<![A-Za-z0-9])authentication\s{1,9}(?:text|string)\s{1,9}(?=\S)/i,
  /(?<![A-Za-z0-9])(?:standby|vrrp|glbp)\s{1,9}\d{1,4}\s{1,9}authentication\s{1,9}(?=\S)/i,
  // The user and password of an address, and of curl.
  /:\/\/(?=[^\s/@:]{0,255}:[^\s/@]{1,255}@)/,
  /(?<!\S)(?:-u|--user)[\s=]{1,9}(?=\S{1,255}:\S)/,
  // Hashes in the notation of crypt: $6$salt$hash.
  /(?=\$(?:\d{1,2}[a-z]?|y|sha1|apr1)\$\S)/,
];

/** Texts before and after a secret word that make it an ordinary statement. No secret fits into them. */
const ordinary: readonly { readonly before?: RegExp; readonly word: RegExp; readonly after: RegExp }[] = [
  { word: /^passwords?\b/i, after: /^(?:encryption aes|strength-check|min-length \d{1,3})$/i },
  { word: /^key\b/i, after: /^chain [\w.-]{1,64}(?: (?:tcp|macsec))?$/i },
  // The number of a key. Shorter than any secret.
  { word: /^key\b/i, after: /^\d{1,3}(?: prefer)?[;{]?$/i },
  {
    before: /\bcrypto $/i,
    word: /^key\b/i,
    after: /^(?:generate|zeroize) (?:rsa|ec|ecdsa|dsa)(?: (?:general-keys|usage-keys|modulus|keysize|\d{3,4}))*$/i,
  },
  { before: /\b(?:send-|match )$/i, word: /^community\b/i, after: /^(?:both|standard|extended|large|[\w.-]{1,64}(?: exact-match)?)$/i },
  {
    word: /^community\b/i,
    after: /^(?:(?:add|set|new-format|additive|internet|local-as|no-export|no-advertise|none|\d{1,10}:\d{1,10})(?: |$))+$/i,
  },
  { before: /^(?:set policy-options )?\s*$/i, word: /^community\b/i, after: /^[\w.-]{1,64} members(?: (?:[[\]]|\d{1,10}:\d{1,10}))+;?$/i },
  {
    before: /(?:^\s*|\baaa )$/i,
    word: /^authorization\b/i,
    after:
      /^(?:exec|network|commands|config-commands|console|serial-console|configuration|reverse-access|auth-proxy|read-only|read-write)[\w+ -]*;?$/i,
  },
];

/** Ordinary statements are short. A longer rest of a line is not compared with them. */
const maxOrdinary = 120;

/** Returns the place in the line where its first secret begins; -1 if it has none. A secret ends with its line. */
export function secretStart(line: string): number {
  const end = line.trimEnd().length;
  let first = -1;
  for (const { 0: found, index } of line.matchAll(secretWord)) {
    const start = index + found.length;
    if (start >= end) break;
    if (isOrdinary(line, index, start, end)) continue;
    first = start;
    break;
  }
  for (const expression of otherSecrets) {
    const found = expression.exec(first < 0 ? line : line.slice(0, first));
    if (found !== null) first = found.index + found[0].length;
  }
  // The password that chpasswd reads comes before its name.
  if (/\|\s{0,9}(?:sudo\s{1,9})?(?:ch)?passwd(?![A-Za-z0-9])/i.test(line)) first = line.search(/\S/);
  return first;
}

function isOrdinary(line: string, index: number, start: number, end: number): boolean {
  if (end - start > maxOrdinary) return false;
  const [found, rest] = [line.slice(index, start), line.slice(start, end)];
  const before = line.slice(Math.max(0, index - 40), index);
  return (
    /^[a-z]+\s+$/i.test(found) && ordinary.some((one) => (one.before?.test(before) ?? true) && one.word.test(found) && one.after.test(rest))
  );
}

/** A line that ends with such a word: its secret is on the next line. After "key" only if more than blanks follow. */
const secretBelow = new RegExp(
  `(?:${joinable}${suffix}|(?<![A-Za-z0-9])(?:(?:ssh)?pass|pwd|community|psk|authorization|bearer)${suffix}` +
    `|(?<![A-Za-z0-9])[\\w-]{0,64}key${suffix}[^A-Za-z0-9_\\s-])[^A-Za-z0-9_-]*(?:[|>][-+\\d]{1,3}\\s*)?$`,
  "i",
);
/** An end tag, and a statement that removes a secret. */
const noneBelow = /<\/[\w-]{1,64}>\s*$|^\s*(?:no|default|delete|unset|undo)\s[^:=]*$|\btype "?password"?;?\s*$/i;

/** Returns whether the next line, and the lines below that are indented deeper than this one, are a secret. */
export function hasSecretBelow(line: string): boolean {
  // The word is at the end: the rest of a long line is not searched.
  const tail = line.trimEnd().slice(-300);
  return secretBelow.test(tail) && !noneBelow.test(tail);
}

/** Replaces the secrets of a text. Text after a secret word is a secret up to the next line feed. Other line ends do not end it. */
export function maskText(text: string): string {
  return replaceSecrets(text, () => hidden);
}

/** Returns the parts of the text that maskText replaces. */
export function secretsIn(text: string): readonly string[] {
  const secrets: string[] = [];
  replaceSecrets(text, (secret) => {
    secrets.push(secret);
    return secret;
  });
  return secrets;
}

function replaceSecrets(text: string, replace: (secret: string) => string): string {
  /** A secret below its word. Open: its first line is still to come. It ends with the first line that is not indented deeper than its word. */
  let below: { readonly indent: number; readonly isOpen: boolean } | undefined;
  let isPrivateKey = false;
  const from = (line: string, start: number) => line.slice(0, start) + replace(line.slice(start));
  return text
    .split("\n")
    .map((full) => {
      const end = full.endsWith("\r") ? "\r" : "";
      const line = full.slice(0, full.length - end.length);
      const indent = line.search(/\S/);
      // Blank lines may be in between.
      if (indent < 0) return full;
      if (isPrivateKey) {
        isPrivateKey = !line.includes("-----END");
        return isPrivateKey ? from(line, indent) + end : full;
      }
      isPrivateKey = /-----BEGIN [A-Z0-9 ]{0,64}(?:PRIVATE|STATIC) KEY/.test(line) && !line.includes("-----END");
      if (below !== undefined && (below.isOpen || indent > below.indent)) {
        below = { ...below, isOpen: false };
        return from(line, indent) + end;
      }
      below = hasSecretBelow(line) ? { indent, isOpen: true } : undefined;
      const start = secretStart(line);
      return start < 0 ? full : from(line, start) + end;
    })
    .join("\n");
}
