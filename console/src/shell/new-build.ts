// A tab outlives the build it came from: a screen that it opens later may be gone from the server. Then the page is loaded anew,
// once, and with a draft only after a yes.
import { hasDraft } from './draft.tsx';

const KEY = 'wda.reloaded';
const AGAIN_MS = 10_000;

/** To be called once. */
export function watchForNewBuilds(): void {
  addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    // Loaded anew a moment ago: the build is broken, and the screen says so.
    if (Date.now() - last < AGAIN_MS) return;
    const isFine =
      !hasDraft() || confirm('The console was updated. Load the page again? What you typed and did not save is lost.');
    if (!isFine) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
