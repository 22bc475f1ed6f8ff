import { kinds } from "./kinds.fixture.ts";
import { kindTests } from "./kinds-checks.fixture.ts";

kindTests(kinds);
