// What a message says besides the arguments of its tool. The SDK holds all that it is given against schemas in one piece:
// 300,000 wrong values took it 5 seconds. Arguments are read by the tools themselves, so it gets none, and few other values.
import { badRequest } from '../errors.ts';
import { isRecord } from '../request/members.ts';

export type Message = Readonly<Record<string, unknown>>;

const MAX_VALUES = 500;

/** The message with `{}` in place of its arguments; 400 when that has too many values. */
export function toEnvelope(message: Message): Message {
  const { params } = message;
  const isBare = !isRecord(params) || !isRecord(params.arguments);
  const envelope = isBare ? message : { ...message, params: { ...params, arguments: {} } };
  if (countRemaining(envelope, MAX_VALUES) < 0) {
    throw badRequest('INVALID_MESSAGE', `A message has at most ${MAX_VALUES} values besides the arguments of its tool`);
  }
  return envelope;
}

/** What is left of so many values when those in this one are taken away, and itself; it stops looking below 0. */
function countRemaining(value: unknown, values: number): number {
  let remaining = values - 1;
  if (typeof value !== 'object' || value === null) return remaining;
  for (const name in value) {
    if (remaining < 0) return remaining;
    remaining = countRemaining((value as Message)[name], remaining);
  }
  return remaining;
}
