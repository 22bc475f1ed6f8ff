import { type Envelope, fail, success } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Host } from "./host.ts";
import { icons, imagesOf, templateDetail, templates } from "./templates.ts";
import type { User } from "./users.ts";

export function listIcons(): object {
  return Object.fromEntries(icons.map((icon) => [icon, icon]));
}

export function userFields(host: Host, { email, folder, lab, name, tenant, html5, username }: User): object {
  const there = host.files.checkFolder(folder) === 0 ? folder : "/";
  const numbers = columnsAreTexts(host) ? { tenant: String(tenant), html5: String(html5) } : { tenant, html5 };
  return { email, folder: there, lab, lang: "en", name, role: "admin", ...numbers, username };
}

export async function showStatus({ host }: Call): Promise<Envelope> {
  await host.sleep(host.settings.latency.hostStatus);
  const data = {
    version: host.settings.version,
    qemu_version: "7.2.22",
    uksm: "unsupported",
    ksm: "disabled",
    cpulimit: "disabled",
    cpu: host.settings.random(0, 100),
    disk: 27,
    cached: 96,
    mem: 4,
    swap: 0,
    ...host.runtime.counts(),
  };
  return success(200, 60001, { data });
}

/** Every node of every user; and every lock of every lab. */
export async function stopEverything({ host }: Call): Promise<Envelope> {
  await host.runtime.stopAll();
  host.files.locks.clear();
  return success(200, 60051);
}

export function listNetworkTypes({ host }: Call): Envelope {
  const data = Object.fromEntries(host.networkTypes);
  const icons6 = { "lan.png": "lan.png", "cloud.png": "cloud.png" };
  return success(200, 60002, host.settings.edition === "ce5" ? { data } : { data, icons: icons6 });
}

export function listUsers({ host }: Call): Envelope {
  const data = host.users.all().map((user) => [user.username, userRow(host, user)] as const);
  return success(200, 60040, { data: Object.fromEntries(data) });
}

/** Without the last folder and lab. */
export function showUser({ host }: Call, username: string): Envelope {
  const user = host.users.all().find((each) => each.username === username);
  if (user === undefined) return fail(404, 60039);
  const { folder: _folder, lab: _lab, ...data } = userRow(host, user);
  return success(200, 60040, { data });
}

function userRow(host: Host, { username, email, name, folder, lab, expires, tenant }: User) {
  const session = Math.floor(expires / 1000);
  const row = { username, email, expiration: -1, name, session, role: "admin", ip: "127.0.0.1", folder, lab, pod: -1, pexpiration: -1 };
  if (!columnsAreTexts(host)) return row;
  return { ...row, expiration: "-1", session: String(session), pod: String(tenant), pexpiration: "-1" };
}

/** The host that was recorded with visible notices gives numbers of its database as texts. */
function columnsAreTexts({ settings }: Host): boolean {
  return settings.php === 7 && settings.notices === "visible";
}

/** A template, or all of them where none is named. */
export function showTemplates({ host }: Call, id: string): Envelope {
  const { images, edition } = host.settings;
  const missing = edition === "pro" ? ".hided" : ".missing";
  if (id === "") {
    const listed = [...templates.values()].filter((each) => host.settings.templates?.includes(each.id) ?? true);
    const data = listed.map(({ id: each, description, type }) => {
      const installed = imagesOf(images, type, each).length > 0;
      return [each, installed ? description : description + missing] as const;
    });
    return success(200, 60003, { data: new Map(data) });
  }
  const template = templates.get(id);
  if (template === undefined) return fail(404, 60031);
  return success(200, 60032, { data: templateDetail(template, imagesOf(images, template.type, id), missing) });
}

export function closeLab({ user }: Call): Envelope {
  if (user !== undefined) user.lab = null;
  return success(200, 60053);
}
