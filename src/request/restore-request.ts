// Parses the body of a restore: {"event": id}.
import { readMembers } from './members.ts';

/** Returns the id of the event as written. Throws 400. */
export const parseRestoreRequest = (body: unknown): string => readMembers(body, ['event'], 'the body').text('event');
