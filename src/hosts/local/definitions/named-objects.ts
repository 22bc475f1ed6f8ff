/** The nodes or the networks of a definition that is being edited, by id, by name and by the keys of its user. */
export class NamedObjects<T extends { readonly id: number; readonly name: string }> {
  readonly #objects: Map<number, T>;
  /** Key → native id, as the engine has joined them. A deleted object may still have a key. */
  readonly #keys: Map<string, string>;
  readonly #ofName = new Map<string, Set<number>>();
  /** Id → number of keys that are joined with it. */
  readonly #keysOf = new Map<string, number>();

  constructor(objects: readonly T[], keys: Readonly<Record<string, string>>) {
    this.#objects = new Map(objects.map((one) => [one.id, one]));
    this.#keys = new Map(Object.entries(keys));
    for (const one of objects) this.#name(one);
    for (const id of this.#keys.values()) this.#count(id, 1);
  }

  get keys(): ReadonlyMap<string, string> {
    return this.#keys;
  }

  get(id: number): T | undefined {
    return this.#objects.get(id);
  }

  has(id: number): boolean {
    return this.#objects.has(id);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  /** Returns the id that is joined with the key, or the id of an object with this name that is joined with no key. */
  find(key: string, name = key): number | undefined {
    const joined = Number(this.#keys.get(key));
    if (this.#objects.has(joined)) return joined;
    for (const id of this.#ofName.get(name) ?? []) if (!this.#keysOf.has(String(id))) return id;
    return undefined;
  }

  /** Adds the object, or replaces the object with its id. */
  set(object: T): void {
    const before = this.#objects.get(object.id);
    this.#objects.set(object.id, object);
    if (before?.name === object.name) return;
    if (before !== undefined) this.#ofName.get(before.name)?.delete(before.id);
    this.#name(object);
  }

  delete(id: number): void {
    const object = this.#objects.get(id);
    if (object === undefined) return;
    this.#objects.delete(id);
    this.#ofName.get(object.name)?.delete(id);
  }

  /** Joins the key with this id; `undefined`: with none. */
  join(key: string, id: number | undefined): void {
    const before = this.#keys.get(key);
    if (before !== undefined) this.#count(before, -1);
    if (id === undefined) {
      this.#keys.delete(key);
    } else {
      this.#keys.set(key, String(id));
      this.#count(String(id), 1);
    }
  }

  #name({ id, name }: T): void {
    const ids = this.#ofName.get(name);
    if (ids === undefined) this.#ofName.set(name, new Set([id]));
    else ids.add(id);
  }

  #count(id: string, by: 1 | -1): void {
    const count = (this.#keysOf.get(id) ?? 0) + by;
    if (count === 0) this.#keysOf.delete(id);
    else this.#keysOf.set(id, count);
  }
}
