// Checks that a request comes from the console's own page. SameSite alone does not exclude a page on another port of
// the same host: it is same-site.
import type { IncomingHttpHeaders } from 'node:http';
import { unsupportedMediaType } from '../errors.ts';
import { isJsonType } from '../request/body.ts';
import { foreignPage, notByThePage } from './errors.ts';

const READS = ['GET', 'HEAD'];

/**
 * Throws 403 or 415 for a request that a page of another origin, or a form, may have sent. Browsers send Fetch Metadata
 * only over https and on localhost; otherwise `Origin` is checked, or X-Console, which no page of another origin can
 * send without permission (WHATWG Fetch), and none has it. `publicUrl`: URL of the server for clients.
 */
export function checkOrigin(method: string, path: string, headers: IncomingHttpHeaders, publicUrl: string): void {
  const isMarked = headers['x-console'] === '1';
  if (!isOwn(headers, publicUrl, isMarked)) throw foreignPage();
  if (READS.includes(method)) return;
  if (!isMarked) throw notByThePage();
  // An import checks its media types itself, and no form can send any of them.
  if (!path.endsWith('/_import') && !isJsonType(headers['content-type']))
    throw unsupportedMediaType('application/json');
}

function isOwn(headers: IncomingHttpHeaders, publicUrl: string, isMarked: boolean): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return isMarked;
  return URL.canParse(origin) && (origin === new URL(publicUrl).origin || new URL(origin).host === host);
}
