// Bodies of the routes of rollouts.
import { DEFAULT_WAVES, type Share, type Waves } from '../rollouts/waves.ts';
import type { Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import { refinedBody } from './body.ts';
import { Slug } from './names.ts';
import { objectShape } from './response.ts';

export const Version = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'A version of the shared schema.',
});
const SHARE_RULE = 'a number of workspaces, or a percentage of all of them such as "5%"';
// More than a list of a body may have is refused before.
const Workspaces = Type.Array(Slug, {
  minItems: 1,
  maxItems: 2000,
  uniqueItems: true,
  description: 'Slugs of workspaces, taken in this order. Without it: all that follow the schema, by slug.',
});
const ShareShape = Type.Unsafe<number | string>({ type: ['integer', 'string'] });

const NewPlan = objectShape({ version: Version, workspaces: Type.Optional(Workspaces) }, { title: 'NewRolloutPlan' });
const NewRollout = objectShape(
  {
    version: Version,
    workspaces: Type.Optional(Workspaces),
    waves: Type.Optional(
      Type.Array(ShareShape, {
        minItems: 1,
        maxItems: 100,
        description: `How many workspaces each wave has: ${SHARE_RULE}, rounded up; "rest" is last and may be left out. By default [1, 10, "rest"].`,
      }),
    ),
    pause: Type.Optional(
      Type.Unsafe<'none' | 'confirm'>({
        type: 'string',
        enum: ['none', 'confirm'],
        description: 'none, which is the default, or confirm: paused after each wave but the last, until `resume`.',
      }),
    ),
    maxFailures: Type.Optional(
      Type.Unsafe<number | string>({
        type: ['integer', 'string'],
        description: `When more than so many have failed, the rollout is paused: ${SHARE_RULE}, rounded up. By default 10.`,
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 16, description: 'Workspaces at a time, by default 2.' }),
    ),
    allowDestructive: Type.Optional(Type.Boolean({ description: 'Drop what the version does not have any more.' })),
    skipConflicts: Type.Optional(
      Type.Boolean({
        description: 'Workspaces with records in the way are `skipped` and do not count as failed.',
      }),
    ),
  },
  { title: 'NewRollout' },
);

export const PLAN_BODY = refinedBody(NewPlan, ({ version, workspaces = null }) => ({ version, slugs: workspaces }));
export const ROLLOUT_BODY = refinedBody(NewRollout, (input, report) => ({
  version: input.version,
  slugs: input.workspaces ?? null,
  waves: parseWaves(input.waves ?? DEFAULT_WAVES, report),
  pause: input.pause ?? 'none',
  maxFailures: parseShare(input.maxFailures ?? 10, 0, ['maxFailures'], report),
  concurrency: input.concurrency ?? 2,
  allowDestructive: input.allowDestructive ?? false,
  skipConflicts: input.skipConflicts ?? false,
}));

const MAX_WORKSPACES = 1_000_000;

function parseShare(value: number | string, least: number, path: readonly (string | number)[], report: Report): Share {
  const percent = typeof value === 'string' ? /^(0|[1-9]\d?|100)%$/.exec(value)?.[1] : undefined;
  const number = percent === undefined ? value : Number(percent);
  if (typeof number !== 'number' || number < least || number > MAX_WORKSPACES) {
    report(path, 'INVALID', `must be ${SHARE_RULE}, at least ${least}`);
    return least;
  }
  return percent === undefined ? number : `${number}%`;
}

function parseWaves(values: readonly (number | string)[], report: Report): Waves {
  return values.map((value, index) => {
    if (value !== 'rest') return parseShare(value, 1, ['waves', index], report);
    if (index < values.length - 1) report(['waves', index], 'INVALID', '"rest" may only be last');
    return value;
  });
}
