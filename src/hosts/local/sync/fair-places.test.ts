import { expect, test } from "vitest";
import { FairPlaces } from "./fair-places.ts";

/** Takes a place and records who got one. */
function enter(places: FairPlaces, entered: string[], user: string): void {
  void places.take(user).then(() => entered.push(user));
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

test("one user gets at most half of the places, and another user gets one of the rest", async () => {
  const places = new FairPlaces(4);
  const entered: string[] = [];
  for (const user of ["bob", "bob", "bob", "bob", "ann"]) enter(places, entered, user);
  await tick();
  expect(entered).toEqual(["bob", "bob", "ann"]);
  places.free("bob");
  await tick();
  expect(entered).toEqual(["bob", "bob", "ann", "bob"]);
});

test("a free place goes to the user with the fewest places, in whatever order they came", async () => {
  const places = new FairPlaces(3, 3);
  const entered: string[] = [];
  for (const user of ["bob", "bob", "bob", "bob", "ann", "eve"]) enter(places, entered, user);
  await tick();
  for (let i = 0; i < 2; i++) {
    places.free("bob");
    await tick();
  }
  expect(entered).toEqual(["bob", "bob", "bob", "ann", "eve"]);
  places.free("ann");
  await tick();
  expect(entered.at(-1)).toBe("bob");
});

test("users share a single place in turn", async () => {
  const places = new FairPlaces(1);
  const order: string[] = [];
  await Promise.all(["bob", "bob", "bob", "ann"].map((user) => places.run(user, async () => order.push(user))));
  expect(order).toEqual(["bob", "ann", "bob", "bob"]);
});

test("work that fails gives its place back", async () => {
  const places = new FairPlaces(1);
  await expect(places.run("bob", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await places.run("bob", async () => "yes")).toBe("yes");
});
