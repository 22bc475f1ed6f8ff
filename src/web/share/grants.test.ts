import { expect, test } from "vitest";
import { withGrant, withoutGrant } from "./grants.ts";

test("a user has one grant, the last one, and the list is sorted by user", () => {
  const grants = withGrant(withGrant([{ user: "zoe", right: "view" }], { user: "ann", right: "view" }), { user: "zoe", right: "edit" });
  expect(grants).toEqual([
    { user: "ann", right: "view" },
    { user: "zoe", right: "edit" },
  ]);
  expect(withoutGrant(grants, "ann")).toEqual([{ user: "zoe", right: "edit" }]);
});
