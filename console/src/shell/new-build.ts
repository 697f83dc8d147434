// Reload after a new build: a tab outlives its build, so that a screen may be missing on the server when it is opened.
// Then the page reloads once. Unsaved drafts were confirmed when the user opened another screen, so nothing is asked
// here.

const KEY = 'wda.reloaded';
const AGAIN_MS = 10_000;

let parts = 0;

/** Counts a part of a screen that loads without a change of the address. */
export async function trackLoading<T>(part: Promise<T>): Promise<T> {
  parts++;
  try {
    return await part;
  } finally {
    parts--;
  }
}

/**
 * Reloads the page when a screen is missing; called once. `isOpening` returns whether a screen is being opened, as a
 * failed prefetch can wait.
 */
export function watchForNewBuilds(isOpening: () => boolean): void {
  addEventListener('vite:preloadError', (event) => {
    if (!isOpening() && parts === 0) return;
    const last = Number(sessionStorage.getItem(KEY) ?? 0);
    // A second reload in a short time means that the build is broken, which the screen shows.
    if (Date.now() - last < AGAIN_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    location.reload();
  });
}
