/** One line of a metric: its label values, in the order of its label names, and its value. */
export type Sample = readonly [values: readonly string[], value: number];

export interface Counter {
  add(values?: readonly string[], by?: number): void;
}

export interface Histogram {
  observe(values: readonly string[], value: number): void;
}

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly lines: () => Iterable<string>;
}

/**
 * Metrics in Prometheus' text format 0.0.4. Label values come from closed sets (operations, statuses, states), never from users, so that the
 * number of lines is bounded by the program.
 */
export class Registry {
  readonly #metrics: Metric[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const series = new Series((values) => ({ values, value: 0 }));
    if (labels.length === 0) series.of([]);
    this.#metrics.push({
      name,
      type: "counter",
      help,
      *lines() {
        for (const { values, value } of series.all) yield `${name}${labelText(labels, values)} ${value}`;
      },
    });
    return {
      add: (values = [], by = 1) => {
        series.of(values).value += by;
      },
    };
  }

  /** Registers a value, or one value per combination of labels, that is read at each scrape. `type` counter: it only grows. */
  read(
    name: string,
    help: string,
    read: () => number | Iterable<Sample>,
    { labels = [], type = "gauge" }: { readonly labels?: readonly string[]; readonly type?: "gauge" | "counter" } = {},
  ): void {
    this.#metrics.push({
      name,
      type,
      help,
      *lines() {
        const now = read();
        const samples: Iterable<Sample> = typeof now === "number" ? [[[], now]] : now;
        for (const [values, value] of samples) yield `${name}${labelText(labels, values)} ${value}`;
      },
    });
  }

  /** `bounds` in ascending order. */
  histogram(name: string, help: string, labels: readonly string[], bounds: readonly number[]): Histogram {
    const series = new Series((values) => ({ values, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
    this.#metrics.push({
      name,
      type: "histogram",
      help,
      *lines() {
        for (const { values, counts, sum } of series.all) {
          const key = labelText(labels, values);
          let below = 0;
          for (const [index, bound] of [...bounds, "+Inf"].entries()) {
            below += counts[index]!;
            yield `${name}_bucket${labelText([...labels, "le"], [...values, String(bound)])} ${below}`;
          }
          yield `${name}_sum${key} ${sum}`;
          yield `${name}_count${key} ${below}`;
        }
      },
    });
    return {
      observe: (values, value) => {
        const known = series.of(values);
        const index = bounds.findIndex((bound) => value <= bound);
        known.counts[index === -1 ? bounds.length : index]! += 1;
        known.sum += value;
      },
    };
  }

  text(): string {
    const lines = this.#metrics.flatMap(({ name, type, help, lines: each }) => {
      const samples = [...each()];
      return samples.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
    });
    return `${lines.join("\n")}\n`;
  }
}

/** The samples by label values, in order of first use. The lookup is one map per label: building a combined key would slow down each request. */
class Series<T> {
  readonly all: T[] = [];
  readonly #first: Level<T> = { next: new Map() };
  readonly #make: (values: readonly string[]) => T;

  constructor(make: (values: readonly string[]) => T) {
    this.#make = make;
  }

  of(values: readonly string[]): T {
    let level = this.#first;
    for (const value of values) {
      let next = level.next.get(value);
      if (next === undefined) {
        next = { next: new Map() };
        level.next.set(value, next);
      }
      level = next;
    }
    if (level.known === undefined) {
      level.known = this.#make(values);
      this.all.push(level.known);
    }
    return level.known;
  }
}

interface Level<T> {
  readonly next: Map<string, Level<T>>;
  known?: T;
}

function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${names.map((name, index) => `${name}="${escaped(values[index] ?? "")}"`).join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
