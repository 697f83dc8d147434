// Links of Markdown pages: those to pages and files of the repository, and the anchors of headings. Pure.
import { posix } from 'node:path';

/** Anchor of a heading, as git hosts name it. */
export const toAnchor = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** Blocks and spans of code, which have no links. */
const CODE = /^ {0,3}```[\s\S]*?^ {0,3}```|`[^`\n]+`/gm;
const LINK = /(\]\()([^)\s]+)(\))/g;

const isForeign = (link: string): boolean => /^[a-z]+:/.test(link) || link.startsWith('#');

/** Path in the repository, from its root, that a link of a page names. */
export const resolveLink = (page: string, path: string): string =>
  posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, '');

/**
 * Replaces the links of a page to files of the repository. `replace` gets the path from the root, without anchor, and
 * returns the link of the site.
 */
export function replaceLinks(page: string, text: string, replace: (path: string) => string): string {
  const replaceInText = (part: string): string =>
    part.replaceAll(LINK, (whole, start: string, link: string, end: string) => {
      if (isForeign(link)) return whole;
      const [path = '', anchor] = link.split('#');
      return `${start}${replace(resolveLink(page, path))}${anchor === undefined ? '' : `#${anchor}`}${end}`;
    });
  let result = '';
  let at = 0;
  for (const code of text.matchAll(CODE)) {
    result += replaceInText(text.slice(at, code.index)) + code[0];
    at = code.index + code[0].length;
  }
  return result + replaceInText(text.slice(at));
}
