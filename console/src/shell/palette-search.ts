// What the palette finds. Pure.

export interface Goal {
  readonly label: string;
  /** What it is: "Entity", "Screen", "Workspace". */
  readonly kind: string;
  readonly to: string;
}

const MOST = 50;

/**
 * The goals that have all letters of the words typed, best first: the same text, one that begins with it, one with a word that
 * does, one that has it anywhere. 50 at most.
 */
export function found(goals: readonly Goal[], typed: string): readonly Goal[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === '') return goals.slice(0, MOST);
  const rankOf = ({ label }: Goal): number => {
    const text = label.toLowerCase();
    if (text === wanted) return 0;
    if (text.startsWith(wanted)) return 1;
    if (text.split(/[\s/_-]+/).some((word) => word.startsWith(wanted))) return 2;
    return text.includes(wanted) ? 3 : 4;
  };
  return goals
    .map((goal) => ({ goal, rank: rankOf(goal) }))
    .filter(({ rank }) => rank < 4)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ goal }) => goal);
}
