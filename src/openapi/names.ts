// Names of the components of a document.
import type { Part } from './error-responses.ts';

export const schemaRef = (name: string): Part => ({ $ref: `#/components/schemas/${name}` });

/** Returns names of the components of an entity. None of ours collides with them, as names of entities have no dot. */
export const schemaNames = (entity: string) => ({
  /** Component of all columns, for responses to writes. */
  full: entity,
  /** Component of columns and relations, for responses to reads. */
  read: `${entity}.Read`,
  create: `${entity}.Create`,
  update: `${entity}.Update`,
  event: `${entity}.Event`,
  created: `${entity}.CreatedEvent`,
  updated: `${entity}.UpdatedEvent`,
  removed: `${entity}.RemovedEvent`,
  /** Component of the record before or after a change. */
  image: `${entity}.Image`,
});
