import type { FleetAuthority, HandedLab, JoiningMachine, MachineChange, MachineFacts, MachineRow, MachineStore } from "../machines.ts";
import { readImages, readMachine } from "../stored-json.ts";
import type { Database, Outage, Statement } from "./database.ts";
import { isLost, type Leases } from "./leases.ts";
import type { Notices } from "./notices.ts";

/** Exported for the bench of large fleets, in which most machines only read. */
export const sql = {
  list: {
    name: "list_machines",
    text: `SELECT number, name, url, state, labels, short_facts AS facts, images_digest, CASE WHEN images_digest = ANY($1) THEN NULL ELSE images END AS images,
      drain, (extract(epoch FROM joined_at) * 1000)::bigint AS joined_at,
      (extract(epoch FROM seen_at) * 1000)::bigint AS seen_at, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS silent_ms FROM machines ORDER BY name`,
  },
  authority: { name: "fleet_authority", text: "SELECT authority FROM fleet" },
  found: { name: "found_fleet", text: "INSERT INTO fleet (authority) VALUES ($1) ON CONFLICT DO NOTHING" },
  members: {
    name: "fleet_members",
    text: `SELECT number, name, url, installation = $1 AS own, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS silent_ms
      FROM machines ORDER BY name`,
  },
  own: { name: "own_machine", text: "SELECT number FROM machines WHERE installation = $1" },
  useToken: { name: "use_join_token", text: "DELETE FROM join_tokens WHERE hash = $1 AND expires_at > clock_timestamp()" },
  anyMachine: { name: "any_machine", text: "SELECT number FROM machines LIMIT 1" },
  lock: { name: "lock_machines", text: "LOCK TABLE machines IN EXCLUSIVE MODE" },
  taken: {
    name: "machine_taken",
    text: "SELECT name FROM machines WHERE (name = $1 OR url = $2) AND installation <> $3 ORDER BY name = $1 DESC",
  },
  insert: {
    name: "insert_machine",
    text: `INSERT INTO machines (name, installation, url, state, labels, facts, joined_at, seen_at)
      VALUES ($1, $2, $3, 'active', '{}', $4, clock_timestamp(), clock_timestamp()) RETURNING number`,
  },
  update: {
    name: "update_machine",
    text: "UPDATE machines SET name = $1, url = $3, facts = $4, seen_at = clock_timestamp() WHERE installation = $2 RETURNING number",
  },
  notify: { name: "notify_machine", text: "SELECT pg_notify('labwright', $1)" },
  report: { name: "report_machine", text: "UPDATE machines SET facts = $2, seen_at = clock_timestamp() WHERE installation = $1" },
  set: {
    name: "set_machine",
    text: `WITH written AS (UPDATE machines SET state = coalesce($2, state), labels = coalesce($3, labels),
        drain = CASE WHEN $2 = 'active' THEN NULL ELSE coalesce($5, drain) END WHERE name = $1 RETURNING name)
      SELECT pg_notify('labwright', $4) FROM written`,
  },
  remove: {
    name: "remove_machine",
    text: `WITH gone AS (DELETE FROM machines WHERE name = $1 RETURNING installation),
      ended AS (UPDATE services SET ended_at = clock_timestamp() FROM gone WHERE services.installation = gone.installation AND ended_at IS NULL)
      SELECT pg_notify('labwright', $2) FROM gone`,
  },
  putToken: {
    name: "put_join_token",
    text: `WITH old AS (DELETE FROM join_tokens WHERE expires_at <= clock_timestamp())
      INSERT INTO join_tokens (hash, sealed, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
      RETURNING (extract(epoch FROM expires_at) * 1000)::bigint AS expires_at`,
  },
  sealed: { name: "sealed_by_join_token", text: "SELECT sealed FROM join_tokens WHERE hash = $1 AND expires_at > clock_timestamp()" },
  // A lease outlives its lab.
  owner: {
    name: "owner_of_lab",
    text: `SELECT m.number FROM leases l JOIN services s ON s.id = l.holder JOIN machines m ON m.installation = s.installation WHERE l.lab = $1
      AND (EXISTS (SELECT FROM labs WHERE path = $1) OR EXISTS (SELECT FROM jobs WHERE lab = $1 AND status = 'running'))`,
  },
  place: {
    name: "place_lab",
    text: `WITH old AS (DELETE FROM placements WHERE placed_at < clock_timestamp() - interval '1 day' AND lab <> $1)
      INSERT INTO placements AS p (lab, machine, placed_at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT (lab) DO UPDATE
      SET machine = CASE WHEN p.placed_at > clock_timestamp() - $3 * interval '1 ms' AND EXISTS (
        SELECT FROM machines m WHERE m.number = p.machine AND m.state = 'active' AND m.seen_at > clock_timestamp() - interval '9 s')
        THEN p.machine ELSE excluded.machine END, placed_at = clock_timestamp() RETURNING machine`,
  },
  lost: {
    name: "lost_labs",
    text: `SELECT l.lab FROM leases l JOIN labs ON labs.path = l.lab JOIN services s ON s.id = l.holder JOIN machines m ON m.installation = s.installation
      WHERE m.installation <> $1 AND m.seen_at < clock_timestamp() - interval '9 s' AND ${isLost} ORDER BY l.lab`,
  },
  takeVnis: { name: "take_vnis", text: "SELECT nextval('spread_vnis')::integer AS vni FROM generate_series(1, $1)" },
  ownedBy: {
    name: "labs_of_machines",
    text: `SELECT l.lab, m.number FROM machines m JOIN services s ON s.installation = m.installation JOIN leases l ON l.holder = s.id
      JOIN labs ON labs.path = l.lab WHERE m.number = ANY($1)`,
  },
  owners: {
    name: "owners_of_labs",
    text: `SELECT l.lab, m.number FROM labs JOIN leases l ON l.lab = labs.path JOIN services s ON s.id = l.holder
      JOIN machines m ON m.installation = s.installation`,
  },
} as const satisfies Readonly<Record<string, Statement>>;

/** A machine; images: the JSON of its images if they are new, which have a digest. */
type ListedRow = Parameters<typeof readMachine>[0] &
  Record<string, unknown> & { readonly name: string; readonly images: string | null; readonly images_digest: string | null };

interface MemberRow extends Record<string, unknown> {
  readonly number: number;
  readonly name: string;
  readonly url: string;
  readonly own: boolean;
  readonly silent_ms: number;
}

/** After an outage, all machines have reported again within this time, ms. */
const allReportedMs = 10_000;

/**
 * Returns how long a machine has been silent by itself: not while no machine could report, because the database was away.
 * @param silentMs since its last report
 * @param now by `performance.now()`
 */
export function ownSilence(silentMs: number, outage: Outage | undefined, now: number): number {
  const since = now - (outage?.endedAt ?? Number.NEGATIVE_INFINITY);
  if (outage === undefined || since > allReportedMs || silentMs <= since) return silentMs;
  return Math.max(since, silentMs - outage.ms);
}

/** The machines of a fleet, in memory and in PostgreSQL. */
export class Machines implements MachineStore {
  readonly #database: Pick<Database, "query" | "transaction" | "lastOutage">;
  readonly #leases: Pick<Leases, "installation" | "owns" | "forget" | "takeLost" | "takeHanded">;
  readonly #notices: Pick<Notices, "text">;
  #rows: readonly MachineRow[] = [];
  /** The images of the machines, by their digests. */
  #images: ReadonlyMap<string, NonNullable<MachineFacts["images"]>> = new Map();
  #own: number | undefined;
  /** Number of reads that have begun, and of the one whose rows are in memory. */
  #begun = 0;
  #current = 0;
  /** Lab with a record → number of the machine that owns it. */
  #owners = new Map<string, number>();
  /** Labs of other machines whose owners were read since the last takeMoved. */
  readonly #moved = new Set<string>();

  constructor(
    database: Pick<Database, "query" | "transaction" | "lastOutage">,
    leases: Pick<Leases, "installation" | "owns" | "forget" | "takeLost" | "takeHanded">,
    notices: Pick<Notices, "text">,
  ) {
    this.#database = database;
    this.#leases = leases;
    this.#notices = notices;
  }

  get own(): number | undefined {
    return this.#own;
  }

  list(): readonly MachineRow[] {
    return this.#rows;
  }

  /** Reads all machines, if this one has joined: nobody else needs them. */
  async catchUp(): Promise<void> {
    if (this.#own === undefined) return;
    this.#begun += 1;
    const number = this.#begun;
    const { rows } = await this.#database.query<ListedRow>(sql.list, [[...this.#images.keys()]]);
    // A read that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    const known = new Set(this.#rows.map((row) => row.number));
    const fresh = rows.flatMap(({ name, images, images_digest: digest }) =>
      images === null ? [] : [[digest ?? "", readImages(name, images)] as const],
    );
    const images = new Map([...this.#images, ...fresh]);
    const outage = this.#database.lastOutage;
    this.#rows = rows.map((row) => {
      const machine = withImages(readMachine(row), images.get(row.images_digest ?? ""));
      return { ...machine, silentMs: ownSilence(machine.silentMs, outage, performance.now()) };
    });
    const used = new Set(rows.map((row) => row.images_digest));
    this.#images = new Map([...images].filter(([digest]) => used.has(digest)));
    const joined = this.#rows.flatMap((row) => (known.has(row.number) ? [] : [row.number]));
    // At the first read there are none: catchUpWhole reads those of all machines.
    if (known.size > 0 && joined.length > 0) await this.#readOwnedBy(joined);
  }

  /** A machine that joins may have had labs before. All owners would be too many rows for each change of a machine. */
  async #readOwnedBy(machines: readonly number[]): Promise<void> {
    const { rows } = await this.#database.query<{ lab: string; number: number }>(sql.ownedBy, [machines]);
    for (const { lab, number } of rows) this.noteOwner(lab, number);
  }

  /** Reads the machines and the owners of all labs. */
  async catchUpWhole(): Promise<void> {
    await this.catchUp();
    if (this.#own === undefined) return;
    this.#owners = new Map(await this.owners());
    for (const lab of this.#owners.keys()) this.#noteOwner(lab);
  }

  /** The owner of a lab was read with the record that another service has written. undefined: it has none. */
  noteOwner(lab: string, number: number | undefined): void {
    if (this.#own === undefined) return;
    this.#owners.delete(lab);
    if (number === undefined) return;
    this.#owners.set(lab, number);
    this.#noteOwner(lab);
  }

  #noteOwner(lab: string): void {
    if (this.#owners.get(lab) === this.#own) return;
    this.#leases.forget(lab);
    this.#moved.add(lab);
  }

  takeMoved(): readonly string[] {
    const moved = [...this.#moved];
    this.#moved.clear();
    return moved;
  }

  elsewhere(lab: string): number | undefined {
    const owner = this.#own === undefined || this.#leases.owns(lab) ? undefined : this.#owners.get(lab);
    return owner === this.#own ? undefined : owner;
  }

  knownOwner(lab: string): number | undefined {
    if (this.#leases.owns(lab)) return this.#own;
    const owner = this.#owners.get(lab);
    return owner !== undefined && this.#rows.some(({ number }) => number === owner) ? owner : undefined;
  }

  async authority(): Promise<FleetAuthority | undefined> {
    const { rows } = await this.#database.query<{ authority: string }>(sql.authority, []);
    return rows[0] && (JSON.parse(rows[0].authority) as FleetAuthority);
  }

  async found(authority: FleetAuthority): Promise<boolean> {
    return (await this.#database.query(sql.found, [JSON.stringify(authority)])).count === 1;
  }

  async members(): ReturnType<MachineStore["members"]> {
    const { rows } = await this.#database.query<MemberRow>(sql.members, [this.#leases.installation]);
    return rows.map(({ number, name, url, own, silent_ms: silentMs }) => ({ number, name, url, isOwn: own, silentMs }));
  }

  async hasJoined(): Promise<boolean> {
    return (await this.#database.query(sql.own, [this.#leases.installation])).count === 1;
  }

  async join({ name, url, facts, token }: JoiningMachine): Promise<number> {
    const { installation } = this.#leases;
    const values = [name, installation, url, JSON.stringify(facts)];
    const joined = await this.#database.transaction(async (query): Promise<number | Error> => {
      await query(sql.lock, []);
      const [taken] = (await query<{ name: string }>(sql.taken, [name, url, installation])).rows;
      if (taken?.name === name)
        return new Error(`another machine of the fleet has the name ${name}: give this one another with --machine-name`);
      if (taken !== undefined)
        return new Error(`the machine ${taken.name} of the fleet has the address ${url}: give --advertise an address of this machine`);
      const updated = await query<{ number: number }>(sql.update, values);
      if (updated.rows[0] !== undefined) return updated.rows[0].number;
      const isFirst = (await query(sql.anyMachine, [])).count === 0;
      if (!isFirst && token === undefined)
        return new Error(
          "this machine was removed from the fleet, or its fleet-key is a copy of another machine's: it joins with a new token of labwright machines token",
        );
      if (token !== undefined && (await query(sql.useToken, [token])).count === 0)
        return new Error("the join token is unknown, used or expired: make a new one with labwright machines token");
      // The others refuse the calls of a machine that they have not read yet.
      await query(sql.notify, [this.#notices.text("machine", name)]);
      return (await query<{ number: number }>(sql.insert, values)).rows[0]!.number;
    });
    if (joined instanceof Error) throw joined;
    this.#own = joined;
    await this.catchUpWhole();
    return joined;
  }

  async report(facts: MachineFacts): Promise<void> {
    await this.#database.query(sql.report, [this.#leases.installation, JSON.stringify(facts)]);
    await this.catchUp();
  }

  async set(name: string, { state, labels, drain }: MachineChange): Promise<boolean> {
    const notice = this.#notices.text("machine", name);
    const written = [
      name,
      state ?? null,
      labels === undefined ? null : JSON.stringify(labels),
      notice,
      drain === undefined ? null : JSON.stringify(drain),
    ];
    const { count } = await this.#database.query(sql.set, written);
    await this.catchUp();
    return count === 1;
  }

  async remove(name: string): Promise<boolean> {
    const { count } = await this.#database.query(sql.remove, [name, this.#notices.text("machine", name)]);
    await this.catchUp();
    return count === 1;
  }

  async putToken(hash: string, sealed: string, lifetimeMs: number): Promise<{ readonly expiresAt: number }> {
    const { rows } = await this.#database.query<{ expires_at: number }>(sql.putToken, [hash, sealed, lifetimeMs]);
    return { expiresAt: rows[0]!.expires_at };
  }

  async sealedBy(hash: string): Promise<string | undefined> {
    return (await this.#database.query<{ sealed: string }>(sql.sealed, [hash])).rows[0]?.sealed;
  }

  async ownerOf(lab: string, isRecorded: boolean): Promise<MachineRow | undefined> {
    if (this.#own === undefined || this.#rows.length < 2 || (isRecorded && this.#leases.owns(lab))) return undefined;
    const before = isRecorded ? this.#owners.get(lab) : undefined;
    // Another machine may have taken the lab of a machine that was removed.
    const isKnown = before !== undefined && (before === this.#own || this.#rows.some(({ number }) => number === before));
    const known = isKnown ? before : await this.#readOwner(lab);
    return known === undefined || known === this.#own ? undefined : this.#rows.find(({ number }) => number === known);
  }

  async isOrphaned(lab: string): Promise<boolean> {
    if (this.#own === undefined || this.#leases.owns(lab)) return false;
    const known = this.#owners.get(lab);
    if (known !== undefined && this.#rows.some(({ number }) => number === known)) return false;
    return (await this.#readOwner(lab)) === undefined;
  }

  forgetOwner(lab: string): void {
    this.#owners.delete(lab);
  }

  async place(lab: string, machine: number, keptMs: number): Promise<number> {
    return (await this.#database.query<{ machine: number }>(sql.place, [lab, machine, keptMs])).rows[0]!.machine;
  }

  async lostLabs(): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ lab: string }>(sql.lost, [this.#leases.installation]);
    return rows.map(({ lab }) => lab);
  }

  async takeOver(lab: string): Promise<boolean> {
    const isTaken = await this.#leases.takeLost(lab, this.#notices.text("lab", lab));
    if (isTaken) this.noteOwner(lab, this.#own);
    return isTaken;
  }

  async takeHanded(lab: string, handed: HandedLab): Promise<boolean> {
    const notices = [this.#notices.text("lab", lab), this.#notices.text("job", handed.job)];
    const isTaken = await this.#leases.takeHanded(lab, handed, notices);
    if (isTaken) this.noteOwner(lab, this.#own);
    return isTaken;
  }

  async takeVnis(count: number): Promise<readonly number[]> {
    return (await this.#database.query<{ vni: number }>(sql.takeVnis, [count])).rows.map(({ vni }) => vni);
  }

  async owners(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#database.query<{ lab: string; number: number }>(sql.owners, []);
    return new Map(rows.map(({ lab, number }) => [lab, number]));
  }

  async #readOwner(lab: string): Promise<number | undefined> {
    const { rows } = await this.#database.query<{ number: number }>(sql.owner, [lab]);
    return rows[0]?.number;
  }
}

function withImages(row: MachineRow, images: MachineFacts["images"]): MachineRow {
  return images === undefined ? row : { ...row, facts: { ...row.facts, images } };
}
