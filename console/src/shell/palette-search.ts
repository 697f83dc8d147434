// Search of the command palette. Pure.

export interface PaletteItem {
  readonly label: string;
  /** Words that tell equal labels apart, searched as well: the address of a workspace. */
  readonly detail?: string;
  /** Kind of item: "Entity", "Screen", "Workspace". */
  readonly kind: string;
  readonly to: string;
}

const MOST = 50;
const NO_MATCH = 4;

/**
 * Returns the items that contain all typed words, best first: equal text, then text that begins with it, then a word
 * that begins with it, then any position. 50 at most.
 */
export function searchPalette(goals: readonly PaletteItem[], typed: string): readonly PaletteItem[] {
  const query = typed.trim().toLowerCase();
  if (query === '') return goals.slice(0, MOST);
  const getRank = ({ label, detail }: PaletteItem): number =>
    Math.min(getTextRank(label), detail === undefined ? NO_MATCH : getTextRank(detail));
  const getTextRank = (label: string): number => {
    const text = label.toLowerCase();
    if (text === query) return 0;
    if (text.startsWith(query)) return 1;
    if (text.split(/[\s/_-]+/).some((word) => word.startsWith(query))) return 2;
    return text.includes(query) ? 3 : NO_MATCH;
  };
  return goals
    .map((goal) => ({ goal, rank: getRank(goal) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ goal }) => goal);
}
