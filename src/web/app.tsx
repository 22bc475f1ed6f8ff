import { useState } from "preact/hooks";
import { LabPage } from "./pages/lab.tsx";
import { Labs } from "./pages/labs.tsx";
import { Login } from "./session/login.tsx";
import { NewLab } from "./pages/new-lab.tsx";
import { ReplaceSession } from "./session/replace-session.tsx";
import { Confirm } from "./parts/confirm.tsx";
import { lazy } from "./parts/lazy.tsx";
import { Leave } from "./session/sign-out.tsx";
import { Link } from "./parts/link.tsx";
import { ThemeButton } from "./parts/theme-button.tsx";
import { draftedLabs } from "./intent/drafts.ts";
import { type Route, useRoute } from "./parts/route.ts";
import { useSession } from "./session/session.tsx";

/** With its list and tree. */
const CapturePage = lazy(() => import("./captures/capture-page.tsx"));

export function App() {
  const route = useRoute();
  const [signIn, enter] = useSession();
  const [leaving, setLeaving] = useState(false);
  const [asking, setAsking] = useState(false);
  if (signIn.state === "asking") return <p class="waiting">Looking who you are…</p>;
  if (signIn.state === "out") return <Login why={signIn.why} enter={(token) => enter(token).then(() => setLeaving(false))} />;
  if (signIn.state === "replacing") return <ReplaceSession {...signIn} />;
  if (leaving) return <Leave />;
  const { username, role } = signIn.session;
  return (
    <>
      <header class="top">
        <Link to={{ page: "labs" }} class="brand">
          Labwright
        </Link>
        <nav aria-label="Pages">
          <Link to={{ page: "labs" }}>Labs</Link>
          {role !== "viewer" && <Link to={{ page: "new" }}>New lab</Link>}
          <a href="/docs/">Docs</a>
        </nav>
        <span class="who">
          {username} <small>({role})</small>
        </span>
        <ThemeButton />
        <button type="button" onClick={() => (draftedLabs().length === 0 ? setLeaving(true) : setAsking(true))}>
          Sign out
        </button>
      </header>
      <main>
        {signIn.note !== undefined && (
          <p class="notice" role="status">
            {signIn.note}
          </p>
        )}
        <Page route={route} mayChange={role !== "viewer"} />
      </main>
      {asking && (
        <Confirm
          title="Sign out, and lose what you wrote?"
          action="Sign out"
          onCancel={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            setLeaving(true);
          }}
        >
          Text that was not applied is dropped: of {draftedLabs().join(", ")}.
        </Confirm>
      )}
    </>
  );
}

function Page({ route, mayChange }: { readonly route: Route; readonly mayChange: boolean }) {
  switch (route.page) {
    case "labs":
      return <Labs mayChange={mayChange} />;
    case "new":
      return <NewLab />;
    case "lab":
      return <LabPage key={route.lab} lab={route.lab} view={route.view} node={route.node} mayChange={mayChange} />;
    case "capture":
      return <CapturePage key={route.capture} capture={route.capture} mayChange={mayChange} />;
    default:
      return (
        <section class="empty">
          <h1>There is nothing here</h1>
          <p>
            The address leads to no page. <Link to={{ page: "labs" }}>See your labs</Link>.
          </p>
        </section>
      );
  }
}
