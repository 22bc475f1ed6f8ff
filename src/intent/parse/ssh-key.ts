const line =
  /^(ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp\d{3}|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) ([A-Za-z0-9+/]{16,8192}={0,3})(?: [^\r\n]{0,200})?$/;

/** Returns what is wrong with a public key in the notation of authorized_keys without options (RFC 4253, section 6.6); undefined if nothing is. */
export function sshKeyProblem(text: string): string | undefined {
  const [, type, blob] = line.exec(text) ?? [];
  if (type === undefined || blob === undefined)
    return text.includes("PRIVATE KEY") ? "this is a private key, which no lab must have" : "this is not a public key of SSH";
  const fields = fieldsOf(blob);
  if (fields === undefined || fields.length < 2) return "this public key of SSH is incomplete";
  const [name = [], key = []] = fields;
  if (String.fromCharCode(...name) !== type)
    return `this is not a public key of SSH: it begins with ${type}, and contains another kind of key`;
  return type === "ssh-ed25519" && key.length !== 32 ? "this public key of SSH is incomplete" : undefined;
}

/** Returns the length-prefixed fields of a key; undefined if it does not end with the last of them. */
function fieldsOf(blob: string): readonly (readonly number[])[] | undefined {
  const bytes = decoded(blob);
  const fields: (readonly number[])[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.slice(at, at + 4).reduce((sum, byte) => sum * 256 + byte, 0);
    if (end > bytes.length) return undefined;
    fields.push(bytes.slice(at + 4, end));
    at = end;
  }
  return fields;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Decodes base64: this layer uses neither Node nor the browser. */
function decoded(text: string): readonly number[] {
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (const digit of text.replaceAll("=", "")) {
    bits = ((bits & 0xff) << 6) | digits.indexOf(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push((bits >> count) & 0xff);
  }
  return bytes;
}
