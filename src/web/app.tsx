import { useState } from "preact/hooks";
import { Confirm } from "./dialog/confirm.tsx";
import { draftedLabs } from "./intent/drafts.ts";
import { Labs } from "./pages/labs.tsx";
import { lazy } from "./parts/lazy.tsx";
import { Link } from "./parts/link.tsx";
import { type Route, useRoute } from "./parts/route.ts";
import { ThemeButton } from "./parts/theme-button.tsx";
import { ConnectionBanner } from "./service/connection-banner.tsx";
import { Login } from "./session/login.tsx";
import { ReplaceSession } from "./session/replace-session.tsx";
import { useSession } from "./session/session.tsx";
import { SignOut } from "./session/sign-out.tsx";

/** Loaded when they are shown: the list of labs needs little of them. */
const LabPage = lazy(async () => ({ default: (await import("./pages/lab.tsx")).LabPage }));
const NewLab = lazy(async () => ({ default: (await import("./pages/new-lab.tsx")).NewLab }));
const HostPage = lazy(() => import("./host/host-page.tsx"));
const OwnQuota = lazy(() => import("./host/own-quota.tsx"));
const CapturePage = lazy(() => import("./captures/capture-page.tsx"));

export function App() {
  const route = useRoute();
  const [signIn, signInWith] = useSession();
  const [signingOut, setSigningOut] = useState(false);
  const [confirming, setConfirming] = useState(false);
  if (signIn.state === "checking") return <p class="waiting">Checking your session…</p>;
  if (signIn.state === "out")
    return <Login reason={signIn.reason} signIn={(token) => signInWith(token).then(() => setSigningOut(false))} />;
  if (signIn.state === "replacing") return <ReplaceSession {...signIn} />;
  if (signingOut) return <SignOut />;
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
          {role === "admin" && <Link to={{ page: "host" }}>Host</Link>}
          <a href="/docs/">Docs</a>
        </nav>
        <span class="who">
          {username} <small>({role})</small>
        </span>
        <ThemeButton />
        <button type="button" onClick={() => (draftedLabs().length === 0 ? setSigningOut(true) : setConfirming(true))}>
          Sign out
        </button>
      </header>
      <ConnectionBanner />
      <main>
        {signIn.note !== undefined && (
          <p class="notice" role="status">
            {signIn.note}
          </p>
        )}
        <Page route={route} user={username} mayChange={role !== "viewer"} />
        {route.page === "labs" && role === "user" && <OwnQuota />}
      </main>
      {confirming && (
        <Confirm
          title="Sign out and discard your unapplied text?"
          action="Sign out"
          onCancel={() => setConfirming(false)}
          onConfirm={() => {
            setConfirming(false);
            setSigningOut(true);
          }}
        >
          These labs have text that is not applied: {draftedLabs().join(", ")}.
        </Confirm>
      )}
    </>
  );
}

function Page({ route, user, mayChange }: { readonly route: Route; readonly user: string | undefined; readonly mayChange: boolean }) {
  switch (route.page) {
    case "labs":
      return <Labs mayChange={mayChange} />;
    case "new":
      return <NewLab />;
    case "host":
      return <HostPage user={user} />;
    case "lab":
      return <LabPage key={route.lab} route={route} user={user} mayChange={mayChange} />;
    case "capture":
      return <CapturePage key={route.capture} capture={route.capture} mayChange={mayChange} />;
    default:
      return (
        <section class="empty">
          <h1>Page not found</h1>
          <p>
            No page has this address. <Link to={{ page: "labs" }}>See your labs</Link>.
          </p>
        </section>
      );
  }
}
