// Downloads over plain http. Except on localhost, browsers do not send the origin of a request there (Fetch Metadata),
// so the server rejects plain links; the page fetches the files of download links itself and holds them.
import { CONSOLE_API, send } from '../api/request.ts';
import { announce } from './live-region.tsx';
import { saveFile } from './save-file.ts';

/** Intercepts download links; called once. Does nothing where links work. */
export function fetchInsecureDownloads(): void {
  if (isSecureContext) return;
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[download]') : null;
    const path = link?.getAttribute('href') ?? '';
    if (link === null || !path.startsWith(`${CONSOLE_API}/`)) return;
    event.preventDefault();
    send({ path: path.slice(CONSOLE_API.length) })
      .then(async (response) => saveFile(await response.blob(), link.download))
      .catch((error: Error) => announce(`The file could not be downloaded: ${error.message}`));
  });
}
