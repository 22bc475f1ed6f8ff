/** Options for sign-ins at a provider, as flags give them. */
export interface OidcFlags {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretFile?: string;
  readonly caFile?: string;
  readonly scope: string;
  readonly name: string;
  readonly groups: { readonly claim: string; readonly admin?: string; readonly user?: string; readonly viewer?: string };
}

/** The flags, without --oidc-. */
export const oidcFlagNames = [
  "issuer",
  "client-id",
  "client-secret-file",
  "ca",
  "scope",
  "name",
  "groups-claim",
  "admin-group",
  "user-group",
  "viewer-group",
] as const;

export type OidcFlagName = (typeof oidcFlagNames)[number];

/**
 * Returns the options for sign-ins at a provider; undefined without an issuer. Throws an error for the user.
 * @param given returns the value of a flag or of its variable
 */
export function oidcFlags(host: string, given: (name: OidcFlagName) => string | undefined): OidcFlags | undefined {
  const issuer = given("issuer");
  if (issuer === undefined) {
    const alone = oidcFlagNames.find((name) => given(name) !== undefined);
    if (alone !== undefined) throw new Error(`--oidc-${alone} needs --oidc-issuer`);
    return undefined;
  }
  if (host !== "embedded" && host !== "none")
    throw new Error(`--oidc-issuer is for --host embedded, not ${host}: the users of other hosts sign in with passwords of that host`);
  const clientId = given("client-id");
  if (clientId === undefined || clientId === "") throw new Error("--oidc-issuer needs --oidc-client-id");
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== "https:" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw new Error(
      `--oidc-issuer takes an https URL without query and fragment, such as https://id.example/realms/labs, not ${JSON.stringify(issuer)}`,
    );
  const [secret, ca, admin, user, viewer] = [
    given("client-secret-file"),
    given("ca"),
    given("admin-group"),
    given("user-group"),
    given("viewer-group"),
  ];
  const scope = given("scope") ?? "openid profile email";
  if (!scope.split(" ").includes("openid"))
    throw new Error(`--oidc-scope must contain openid, such as "openid profile groups", not ${JSON.stringify(scope)}`);
  return {
    issuer,
    clientId,
    ...(secret !== undefined && { clientSecretFile: secret }),
    ...(ca !== undefined && { caFile: ca }),
    scope,
    name: given("name") ?? url.host,
    groups: {
      claim: given("groups-claim") ?? "groups",
      ...(admin !== undefined && { admin }),
      ...(user !== undefined && { user }),
      ...(viewer !== undefined && { viewer }),
    },
  };
}
