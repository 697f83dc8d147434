// Did-you-mean: the known name nearest to an unknown one. The only importer of the edit distance.
import { distance } from 'fastest-levenshtein';

/** Returns the nearest known name within a third of the length (1 edit in short names, else at least 2), or null. */
export function closest(name: string, candidates: Iterable<string>): string | null {
  // No name is near a text of this length, and the time of the distance grows with its square.
  if (name.length > 80) return null;
  let best: string | null = null;
  let least = (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) + 1;
  for (const candidate of candidates) {
    // Each character more or less is an edit.
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}
