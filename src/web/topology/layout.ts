export interface Place {
  readonly x: number;
  readonly y: number;
}

interface Member {
  readonly id: string;
  readonly position?: Place | undefined;
}

/** How far apart neighbours are drawn. */
const step = 140;

/**
 * A place for each member: the declared one, or one near what it is linked to. The same graph is drawn the same each time. Costs members × rounds
 * for the springs and, by a grid, about members × rounds for the pushing apart.
 */
export function placed(members: readonly Member[], links: readonly (readonly [string, string])[]): ReadonlyMap<string, Place> {
  const index = new Map(members.map(({ id }, at) => [id, at]));
  const fixed = members.map(({ position }) => position !== undefined);
  const x = new Float64Array(members.length);
  const y = new Float64Array(members.length);
  const radius = (step * Math.sqrt(members.length)) / 2;
  members.forEach(({ position }, at) => {
    // A spiral: nobody on top of another, and the same each time.
    const angle = at * 2.399963;
    const distance = radius * Math.sqrt((at + 0.5) / members.length);
    x[at] = position?.x ?? distance * Math.cos(angle);
    y[at] = position?.y ?? distance * Math.sin(angle);
  });
  if (!fixed.every(Boolean)) {
    const pairs = links
      .map(([a, b]) => [index.get(a), index.get(b)] as const)
      .filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
    relax(x, y, fixed, pairs as readonly (readonly [number, number])[]);
  }
  return new Map(members.map(({ id }, at) => [id, { x: Math.round(x[at]!), y: Math.round(y[at]!) }]));
}

const rounds = 150;

function relax(x: Float64Array, y: Float64Array, fixed: readonly boolean[], pairs: readonly (readonly [number, number])[]): void {
  const count = x.length;
  const dx = new Float64Array(count);
  const dy = new Float64Array(count);
  for (let round = 0; round < rounds; round++) {
    const heat = step * (1 - round / rounds) * 0.5;
    dx.fill(0);
    dy.fill(0);
    for (const [a, b] of pairs) {
      const ex = x[b]! - x[a]!;
      const ey = y[b]! - y[a]!;
      const length = Math.hypot(ex, ey) || 1;
      const pull = ((length - step) / length) * 0.3;
      dx[a]! += ex * pull;
      dy[a]! += ey * pull;
      dx[b]! -= ex * pull;
      dy[b]! -= ey * pull;
    }
    pushApart(x, y, dx, dy);
    for (let at = 0; at < count; at++) {
      if (fixed[at]) continue;
      const length = Math.hypot(dx[at]!, dy[at]!) || 1;
      const most = Math.min(length, heat) / length;
      x[at]! += dx[at]! * most;
      y[at]! += dy[at]! * most;
    }
  }
}

/** Only those in the same or a neighbouring cell of a grid push each other. */
function pushApart(x: Float64Array, y: Float64Array, dx: Float64Array, dy: Float64Array): void {
  const reach = step * 1.5;
  const cells = new Map<string, number[]>();
  for (let at = 0; at < x.length; at++) {
    const key = `${Math.floor(x[at]! / reach)} ${Math.floor(y[at]! / reach)}`;
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, [at]);
    else cell.push(at);
  }
  for (const [key, cell] of cells) {
    const [column, row] = key.split(" ").map(Number) as [number, number];
    for (let i = -1; i <= 1; i++) {
      for (let j = -1; j <= 1; j++) {
        for (const other of cells.get(`${column + i} ${row + j}`) ?? []) {
          for (const at of cell) {
            if (other === at) continue;
            const ex = x[at]! - x[other]!;
            const ey = y[at]! - y[other]!;
            const length = Math.hypot(ex, ey) || 1;
            if (length >= reach) continue;
            const push = (reach - length) / length / 4;
            dx[at]! += ex * push;
            dy[at]! += ey * push;
          }
        }
      }
    }
  }
}
