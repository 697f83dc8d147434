// Builds the envelope of a message: all but the arguments of its tool. The SDK validates all its input against schemas
// in one piece: 300,000 invalid values took 5 seconds. Tools read their arguments themselves, so the SDK gets none, and
// few other values.
import { badRequest } from '../errors.ts';
import { isRecord } from '../request/members.ts';

export type Message = Readonly<Record<string, unknown>>;

/** Name of the only question of a call. */
export const QUESTION = 'confirm';

const MAX_VALUES = 500;

/** Replaces the arguments of a message by `{}`; 400 when the rest has too many values. */
export function toEnvelope(message: Message): Message {
  const { params } = message;
  const isBare = !isRecord(params) || !isRecord(params.arguments);
  const envelope = isBare ? message : { ...message, params: { ...params, arguments: {} } };
  if (countRemaining(envelope, MAX_VALUES) < 0) {
    throw badRequest('INVALID_MESSAGE', `A message has at most ${MAX_VALUES} values besides the arguments of its tool`);
  }
  return envelope;
}

/** Subtracts the number of values in this one, itself included, from `values`; stops below 0. */
function countRemaining(value: unknown, values: number): number {
  let remaining = values - 1;
  if (typeof value !== 'object' || value === null) return remaining;
  for (const name in value) {
    if (remaining < 0) return remaining;
    remaining = countRemaining((value as Message)[name], remaining);
  }
  return remaining;
}
