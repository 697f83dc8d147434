// A tab outlives the build it came from: a screen that it opens later may be gone from the server. Then the page is loaded anew,
// once. Whoever has a draft was asked before another screen is opened, so nothing is asked here.

const KEY = 'wda.reloaded';
const AGAIN_MS = 10_000;

let parts = 0;

/** A part of a screen that is being opened, though the address stays. */
export async function trackLoading<T>(part: Promise<T>): Promise<T> {
  parts++;
  try {
    return await part;
  } finally {
    parts--;
  }
}

/** To be called once. `isOpening` says whether a screen is being opened: what is only fetched in advance can wait. */
export function watchForNewBuilds(isOpening: () => boolean): void {
  addEventListener('vite:preloadError', (event) => {
    if (!isOpening() && parts === 0) return;
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    // Loaded anew a moment ago: the build is broken, and the screen says so.
    if (Date.now() - last < AGAIN_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
