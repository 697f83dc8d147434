// The entity tag of a record: row version and representation.
import { hash } from 'node:crypto';
import type { Statement } from '../sql/compile.ts';

/** With related records in it, the text itself is what tells two representations apart. */
export function entityTag({ tag }: Pick<Statement, 'tag'>, version: string, data: string): string {
  return `${version}.${tag ?? hash('sha1', data, 'base64url')}`;
}
