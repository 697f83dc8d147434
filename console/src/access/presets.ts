// Presets for common identity providers: the form of their issuer, and their setup. Pure.

export interface Preset {
  readonly name: string;
  /** Issuer URL; the parts to replace are in capitals. */
  readonly issuer: string;
  /** Value of `aud`, or undefined if tokens have none by default. */
  readonly audience: string | undefined;
  /** Setup steps at the provider. */
  readonly steps: readonly string[];
}

export const PRESETS: readonly Preset[] = [
  {
    name: 'Auth0',
    issuer: 'https://TENANT.REGION.auth0.com/',
    audience: 'the identifier of the API',
    steps: [
      'The issuer ends with a slash.',
      'Create an API (Applications, APIs); its identifier is the audience. Applications ask for their token with this "audience": without it Auth0 gives opaque tokens, which are refused.',
      'Claims for row rules: a Post Login action that calls api.accessToken.setCustomClaim. Names of such claims are best URLs of your own, such as https://example.com/customer_id.',
    ],
  },
  {
    name: 'Entra',
    issuer: 'https://login.microsoftonline.com/TENANT_ID/v2.0',
    audience: 'the application (client) id of the registration of the API',
    steps: [
      'Register an application for the API and expose a scope in it; the other applications ask for that scope.',
      'In its manifest set requestedAccessTokenVersion to 2: tokens of version 1 have another issuer, https://sts.windows.net/TENANT_ID/.',
      'Claims for row rules: optional claims, app roles or directory extensions of the registration.',
    ],
  },
  {
    name: 'Keycloak',
    issuer: 'https://HOST/realms/REALM',
    audience: 'what the audience mapper adds',
    steps: [
      'There is no slash at the end. Before version 17 the path began with /auth.',
      'Add a mapper of type Audience to a client scope: without it "aud" is "account", or there is none.',
      'Claims for row rules: a mapper of type User Attribute, added to the access token.',
    ],
  },
  {
    name: 'Clerk',
    issuer: 'https://SUBDOMAIN.clerk.accounts.dev',
    audience: undefined,
    steps: [
      'The issuer is the Frontend API URL of the instance; in production it is of the form https://clerk.example.com.',
      'Tokens of sessions have no "aud": create a JWT template that sets one, or leave the audience blank.',
      'Claims for row rules: custom claims of the session token, or of the template, such as {"customer_id": "{{user.public_metadata.customer_id}}"}.',
    ],
  },
  {
    name: 'Cognito',
    issuer: 'https://cognito-idp.REGION.amazonaws.com/USER_POOL_ID',
    audience: 'the id of the app client, for ID tokens',
    steps: [
      'Access tokens have no "aud" unless they are bound to a resource; ID tokens have the id of the app client. Send ID tokens, or leave the audience blank.',
      'Claims for row rules: attributes of the user, in ID tokens as custom:NAME, or a pre token generation trigger.',
    ],
  },
  {
    name: 'Firebase',
    issuer: 'https://securetoken.google.com/PROJECT_ID',
    audience: 'the project id',
    steps: [
      'Send the ID token of the user (getIdToken).',
      'Claims for row rules: custom claims of the user, set by the Admin SDK (setCustomUserClaims); they are in the next token of the user.',
    ],
  },
];

/** Lists the parts of an issuer that still have to be replaced: words in capitals of a preset. */
export function listPlaceholders(issuer: string): readonly string[] {
  const placeholders = new Set(PRESETS.flatMap((preset) => preset.issuer.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? []));
  return [...new Set(issuer.match(/\b[A-Z][A-Z_]{3,}\b/g) ?? [])].filter((word) => placeholders.has(word));
}
