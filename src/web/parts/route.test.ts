import { expect, test } from "vitest";
import { type LabRoute, pathOf, routeOf } from "./route.ts";

const parsed = (path: string) => {
  const { pathname, search } = new URL(path, "https://labs.example");
  return routeOf(pathname, search);
};

const lab: LabRoute = { page: "lab", lab: "/courses/first lab", view: "topology" };

test("the address of a lab contains its drawer, its console, its text, its traffic, the open panel and its capture", () => {
  const route: LabRoute = { ...lab, drawer: "captures", node: "r1", text: true, traffic: true, part: "link:7", capture: "c1" };
  const path = pathOf(route);
  expect(path).toBe("/ui/labs/courses/first%20lab?drawer=captures&node=r1&text=1&traffic=1&part=link%3A7&capture=c1");
  expect(parsed(path)).toEqual(route);
});

test("an address without parameters is the drawing with a closed drawer", () => {
  expect(pathOf(lab)).toBe("/ui/labs/courses/first%20lab");
  expect(parsed(pathOf(lab))).toMatchObject({ view: "topology", drawer: undefined, text: false, traffic: false });
});

test("unknown views and drawers in an address are ignored", () => {
  expect(parsed("/ui/labs/a?view=nope&drawer=nope&capture=c1")).toMatchObject({ view: "topology", drawer: undefined, capture: undefined });
});
