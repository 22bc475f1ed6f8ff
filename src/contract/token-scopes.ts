/** Scopes of API tokens. Each allows what the one before does, and more. */
export const tokenScopes = ["read", "operate", "deploy", "labs", "admin"] as const;
export type TokenScope = (typeof tokenScopes)[number];
