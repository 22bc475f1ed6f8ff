import { kinds } from "./kinds.fixture.ts";
import { kindTests } from "./kinds-checks.fixture.ts";

/** The kinds whose starts differ most: the other ones are in embedded-kinds.extended.test.ts. */
kindTests(kinds.filter(({ template }) => ["frr-container", "nokia_srlinux", "arista_ceos"].includes(template)));
