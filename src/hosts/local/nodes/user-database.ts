import type { NodeMain } from "../sandbox/sandbox.ts";

export interface ContainerUser extends Pick<NodeMain, "uid" | "gids"> {
  readonly home: string;
}

/**
 * Returns user and groups of a container's process, from the container's /etc/passwd and /etc/group.
 * @param user "", "name", "uid", each optionally with ":group" or ":gid"; "" is root
 * @throws Error if a name is in neither, or an id is above 65535
 */
export function findUser(user: string, passwd: string, group: string): ContainerUser {
  const [wanted = "", wantedGroup] = user.split(":", 2);
  const users = lines(passwd, 7);
  const groups = lines(group, 4);
  const name = wanted === "" ? "0" : wanted;
  const entry = users.find(([login]) => login === name) ?? users.find((fields) => fields[2] === name);
  const uid = id(entry?.[2] ?? name, `its image has no user ${name}`);
  const login = entry?.[0];
  const home = entry?.[5] || (uid === 0 ? "/root" : "/");
  if (wantedGroup !== undefined && wantedGroup !== "") {
    const found = groups.find(([title]) => title === wantedGroup)?.[2] ?? wantedGroup;
    return { uid, gids: [id(found, `its image has no group ${wantedGroup}`)], home };
  }
  const gid = id(entry?.[3] ?? "0", `user ${name} has no group`);
  const more =
    login === undefined ? [] : groups.filter((fields) => (fields[3] ?? "").split(",").includes(login)).map((fields) => fields[2] ?? "");
  const gids = [...new Set([gid, ...more.filter((one) => /^\d{1,5}$/.test(one)).map(Number)])].slice(0, maxGroups);
  return { uid, gids, home };
}

/** As many as the holder takes. */
const maxGroups = 32;

function lines(text: string, fields: number): readonly (readonly string[])[] {
  return text.split("\n").flatMap((line) => {
    const parts = line.split(":");
    return line.startsWith("#") || parts.length < Math.min(fields, 3) ? [] : [parts];
  });
}

function id(text: string, otherwise: string): number {
  if (!/^\d+$/.test(text)) throw new Error(otherwise);
  const value = Number(text);
  if (value > 65_535) throw new Error(`the id ${text} is above 65535`);
  return value;
}
