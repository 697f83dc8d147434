// People who sign in to the console: the sender that a stored person is now. Whom the OpenID provider of the installation
// gives the operator's role is the operator; all others have their memberships.
import { type Operator, PERSON_ID, type Person } from '../model/principal.ts';
import type { StoredPerson } from '../store/people.ts';

/** Settings of the provider that people sign in with. */
export interface PeopleSettings {
  readonly issuer: string;
  /** Claim with the roles of a person, or null if none is read. */
  readonly roleClaim: string | null;
  /** Value of that claim that makes a person the operator. */
  readonly operatorRole: string;
}

/** Returns whether the values of the claim for roles make a person the operator. */
export const isOperatorRole = (settings: PeopleSettings, claims: readonly string[]): boolean =>
  settings.roleClaim !== null && claims.includes(settings.operatorRole);

/** Returns the sender that a person is, or undefined if the provider is another one now, or the person a member nowhere. */
export function toSender(
  settings: PeopleSettings | undefined,
  { id, issuer, subject, name, claims, memberships }: StoredPerson,
  session: { readonly sessionId?: string; readonly expiresAt?: number } = {},
): Operator | Person | undefined {
  if (settings === undefined || issuer !== settings.issuer) return undefined;
  const common = { scope: null, credentialId: PERSON_ID + id, person: { id, name, subject }, ...session } as const;
  if (isOperatorRole(settings, claims)) return { kind: 'operator', ...common };
  return memberships.length === 0 ? undefined : { kind: 'person', ...common, memberships };
}
