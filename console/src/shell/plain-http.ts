// Over plain http elsewhere than on localhost, browsers do not say where a request comes from (Fetch Metadata), so the server
// takes no request of a mere link. There the page fetches the files of download links itself, and holds them.
import { CONSOLE_API, send } from '../api/request.ts';
import { saveFile } from './download.tsx';
import { announce } from './live-region.tsx';

/** Must be called once. Does nothing where links work. */
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
