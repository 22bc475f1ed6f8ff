import type { ClientAuth, Configuration } from "openid-client";
import { Failure } from "../../contract/errors.ts";
import { providerFetch } from "./fetch.ts";
import type { Claims } from "./identity.ts";

export interface ProviderOptions {
  /** https. Its metadata must name exactly this issuer. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope: string;
  /** PEM of the authorities for its certificate. */
  readonly ca?: string;
}

/** The secrets of one sign-in, which only the service and the browser that began it know. */
export interface FlowSecrets {
  readonly state: string;
  readonly nonce: string;
  /** PKCE. */
  readonly verifier: string;
}

/** Metadata and keys of the provider are read again after this time, ms. */
const maxAgeMs = 3_600_000;

/** An OpenID Connect provider: authorization code with PKCE. It is first asked when somebody signs in, so the service starts without it. */
export class Provider {
  readonly #options: ProviderOptions;
  #found: { readonly configuration: Promise<Configuration>; readonly at: number } | undefined;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  /** Returns the address to which a browser is sent. Throws host_unreachable. */
  async begin(redirectUri: string): Promise<{ readonly url: URL; readonly secrets: FlowSecrets }> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } = await library();
    const configuration = await this.#configuration();
    const secrets = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#options.scope,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: "S256",
    });
    return { url, secrets };
  }

  /**
   * Returns the claims about the user that the provider has sent back. Checks state, issuer, nonce, audience, signature and times. Throws host_unreachable, and
   * invalid_credentials with the reason.
   * @param called the address at which the browser came back
   */
  async finish(called: URL, { state, nonce, verifier }: FlowSecrets): Promise<Claims> {
    const { authorizationCodeGrant, fetchUserInfo } = await library();
    const configuration = await this.#configuration();
    try {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await authorizationCodeGrant(configuration, called, checks);
      const claims = tokens.claims()!;
      // Many providers put groups and names there only. The library compares its subject.
      const more =
        configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...more, ...claims };
    } catch (error) {
      throw new Failure("invalid_credentials", `${this.issuer} did not confirm the sign-in: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Returns the address at which the provider ends its own session; undefined if it has none. Throws host_unreachable. */
  async end(backTo: string): Promise<URL | undefined> {
    const { buildEndSessionUrl } = await library();
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return buildEndSessionUrl(configuration, { client_id: this.#options.clientId, post_logout_redirect_uri: backTo });
  }

  #configuration(): Promise<Configuration> {
    const now = performance.now();
    if (this.#found === undefined || now - this.#found.at > maxAgeMs) {
      const found = { configuration: this.#discover(), at: now };
      this.#found = found;
      found.configuration.catch(() => {
        if (this.#found === found) this.#found = undefined;
      });
    }
    return this.#found.configuration;
  }

  async #discover(): Promise<Configuration> {
    const { clockTolerance, customFetch, discovery } = await library();
    const { issuer, clientId, clientSecret, ca } = this.#options;
    try {
      const metadata = { [clockTolerance]: 30 };
      return await discovery(new URL(issuer), clientId, metadata, await clientAuth(clientSecret), { [customFetch]: providerFetch(ca) });
    } catch (error) {
      throw new Failure("host_unreachable", `the sign-in provider ${issuer} cannot be used: ${reasonOf(error)}`, { cause: error });
    }
  }
}

/** Loaded at the first sign-in: most services have no provider. */
function library() {
  return import("openid-client");
}

/** Without a secret, PKCE alone protects the code. */
async function clientAuth(secret: string | undefined): Promise<ClientAuth> {
  const { ClientSecretBasic, ClientSecretPost, None } = await library();
  if (secret === undefined) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    return (methods === undefined || methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
  };
}

/** Returns the innermost reason, without texts that the provider chose for people. */
function reasonOf(error: unknown): string {
  const { message, code, error: name, cause } = error as { message?: string; code?: string; error?: string; cause?: unknown };
  if (name !== undefined && /^[\w.-]{1,64}$/.test(name)) return name;
  if (cause instanceof Error && code === undefined) return reasonOf(cause);
  return [message, code].filter((part) => part !== undefined).join(", ");
}
