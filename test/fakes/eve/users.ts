import { type Envelope, fail, html, SlimError, success } from "./answer.ts";
import { noticeOfKey } from "./notice.ts";
import type { FakeUser, Settings } from "./options.ts";
import { type Body, isset, phpString } from "./php.ts";

/** A row of EVE-NG's table of users. */
export interface User {
  readonly username: string;
  readonly password: string;
  readonly name: string;
  readonly email: string;
  /** Its place on the host, from its first login on: part of ports and of directories. */
  tenant: number;
  cookie: string | undefined;
  expires: number;
  html5: 0 | 1;
  folder: string;
  lab: string | null;
  token: string;
}

/** Users and their sessions: one for each user, which every login takes over. */
export class Users {
  readonly #settings: Settings;
  readonly #users = new Map<string, User>();
  /** Whether Guacamole gives out tokens. */
  guacamole: boolean;

  constructor(settings: Settings, users: readonly FakeUser[], guacamole: boolean) {
    this.#settings = settings;
    this.guacamole = guacamole;
    for (const { username, password, name, email } of users) {
      this.#users.set(username, {
        username,
        password,
        name: name ?? username,
        email: email ?? `${username}@localhost`,
        tenant: -1,
        cookie: undefined,
        expires: 0,
        html5: 1,
        folder: "/",
        lab: null,
        token: "",
      });
    }
  }

  /** The answer, and the cookie where it is to be set. */
  login(p: Body): { readonly envelope: Envelope; readonly cookie?: string } {
    if (!isset(p.username)) return { envelope: fail(400, 90011) };
    if (!isset(p.password)) return { envelope: fail(400, 90012) };
    const user = this.#users.get(phpString(p.username));
    if (user === undefined || user.password !== phpString(p.password)) {
      noticeOfKey(this.#settings, "rows", "includes/api_authentication.php", 193, [apiLogin]);
      return { envelope: fail(400, 90014) };
    }
    if (user.tenant < 0) user.tenant = this.#freeTenant();
    // From here on the other session is gone.
    const cookie = this.#settings.uuid();
    user.cookie = cookie;
    this.#touch(user);
    user.html5 = isset(p.html5) && phpString(p.html5) !== "1" ? 0 : 1;
    user.token = "";
    if (user.html5 === 1) {
      if (this.guacamole) user.token = token(this.#settings);
      else if (this.#settings.notices === "visible") throw noToken(this.#settings.php);
    }
    return { envelope: success(200, 90013), cookie };
  }

  logout(cookie: string | undefined): void {
    const user = this.#byCookie(cookie);
    if (user !== undefined) user.cookie = undefined;
  }

  /** Returns the user of a live session, and extends the session. */
  authorize(cookie: string | undefined): User | undefined {
    const user = this.#byCookie(cookie);
    if (user === undefined || user.expires < this.#settings.clock().getTime()) return undefined;
    this.#touch(user);
    return user;
  }

  expire(username: string): void {
    const user = this.#users.get(username);
    if (user !== undefined) user.expires = 0;
  }

  all(): readonly User[] {
    return [...this.#users.values()];
  }

  #byCookie(cookie: string | undefined): User | undefined {
    return cookie === undefined ? undefined : [...this.#users.values()].find((user) => user.cookie === cookie);
  }

  #touch(user: User): void {
    user.expires = this.#settings.clock().getTime() + this.#settings.sessionMs;
  }

  #freeTenant(): number {
    const used = new Set([...this.#users.values()].map(({ tenant }) => tenant));
    let tenant = 0;
    while (used.has(tenant)) tenant++;
    return tenant;
  }
}

const apiLogin = `${html}api.php(129): apiLogin()`;

function token({ uuid }: Settings): string {
  return `${uuid()}${uuid()}`.replaceAll("-", "").toUpperCase();
}

function noToken(php: 7 | 8): SlimError {
  const failed = php === 8 ? "Failed" : "failed";
  const message = `file_get_contents(http://127.0.0.1/html5/api/tokens): ${failed} to open stream: HTTP request failed! HTTP/1.1 404 Not Found\r\n`;
  return new SlimError(message, {
    file: "includes/functions.php",
    line: 1093,
    frames: [
      "[internal function]: Slim\\Slim::handleErrors()",
      `${html}includes/functions.php(1093): file_get_contents()`,
      `${html}includes/api_authentication.php(171): updateUserToken()`,
      apiLogin,
    ],
  });
}

/** Set-Cookie of a login. "3600" is taken for a year. */
export function sessionCookie(cookie: string, domain: string, now: Date): string {
  const expires = new Date(now);
  expires.setUTCFullYear(3600);
  return `unetlab_session=${cookie}; domain=${domain}; path=/api/; expires=${cookieDate(expires)}; HttpOnly`;
}

/** Set-Cookie of a logout: another path, so that it takes nothing away. */
export function noCookie(now: Date): string {
  return `unetlab_session=; path=/; expires=${cookieDate(new Date(now.getTime() - 86_400_000))}`;
}

function cookieDate(date: Date): string {
  const [weekday = "", day = "", month = "", year = "", time = ""] = date.toUTCString().split(" ");
  return `${weekday} ${day}-${month}-${year} ${time} UTC`;
}
