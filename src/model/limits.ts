// Limits of a workspace, which the operator sets for it or for all workspaces of its organization.

/** Names of the limits. */
export const LIMIT_NAMES = ['maxRecords', 'maxBytes', 'maxRequestsPerMinute'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** Limits in force; null: none. */
export type Limits = Readonly<Record<LimitName, number | null>>;

/** Limits as they are stored: a missing one is that of the organization, and no limit for an organization. */
export type StoredLimits = Partial<Readonly<Record<LimitName, number>>>;

/** The greatest number that a limit may have. */
export const MAX_LIMIT = Number.MAX_SAFE_INTEGER;

export const NO_LIMITS: Limits = { maxRecords: null, maxBytes: null, maxRequestsPerMinute: null };

/** Returns all limits, with null for those that are missing. */
export const completeLimits = (stored: StoredLimits): Limits => ({ ...NO_LIMITS, ...stored });

/** Returns true for stored limits. */
export const isStoredLimits = (value: unknown): value is StoredLimits =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(
    ([name, limit]) => LIMIT_NAMES.some((one) => one === name) && Number.isSafeInteger(limit) && limit >= 0,
  );
