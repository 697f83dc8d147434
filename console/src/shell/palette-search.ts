// Search of the command palette. Pure.

export interface PaletteItem {
  readonly label: string;
  /** Kind of item: "Entity", "Screen", "Workspace". */
  readonly kind: string;
  readonly to: string;
}

const MOST = 50;

/**
 * Returns the items that contain all typed words, best first: equal text, then text that begins with it, then a word
 * that begins with it, then any position. 50 at most.
 */
export function searchPalette(goals: readonly PaletteItem[], typed: string): readonly PaletteItem[] {
  const query = typed.trim().toLowerCase();
  if (query === '') return goals.slice(0, MOST);
  const getRank = ({ label }: PaletteItem): number => {
    const text = label.toLowerCase();
    if (text === query) return 0;
    if (text.startsWith(query)) return 1;
    if (text.split(/[\s/_-]+/).some((word) => word.startsWith(query))) return 2;
    return text.includes(query) ? 3 : 4;
  };
  return goals
    .map((goal) => ({ goal, rank: getRank(goal) }))
    .filter(({ rank }) => rank < 4)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ goal }) => goal);
}
