import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { QuotaTable } from "./quota-table.tsx";
import "./host.css";

/** The quotas that apply to the user, below the list of labs; nothing without any. */
export default function OwnQuota() {
  const { data, error, again } = useAnswer(async (signal) => (await call("listQuotas", {}, { signal })).quotas, []);
  if (error === undefined && (data === undefined || data.length === 0)) return null;
  return (
    <section class="host">
      <h2>Your quota</h2>
      {error !== undefined && <Problem error={error} retry={again} />}
      {data !== undefined && <QuotaTable quotas={data} />}
    </section>
  );
}
