import { configureGlobal } from "fast-check";
import { seedOf } from "./seed.ts";

/** Cases of a property that gives no number: half of fast-check's default. One seed gives the same cases in every run; other seeds find more than more cases. */
const cases = 50;

/** Before each test file: properties draw the same cases in every run. */
configureGlobal({ seed: seedOf(process.env.LABWRIGHT_SEED), numRuns: cases });
