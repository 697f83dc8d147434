// Amounts in words that are the same in every locale.

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Formats bytes with a unit in powers of 1000: `8.2 kB`. */
export function formatBytes(amount: number): string {
  let rest = amount;
  let unit = 0;
  while (rest >= 999.5 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${unit === 0 || rest >= 99.5 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit]}`;
}

/** Formats a whole number with commas between thousands: `1,234,567`. */
export const formatCount = (amount: number | string): string => String(amount).replace(/\B(?=(\d{3})+$)/g, ',');

/** Formats `1 record`, `2 records`. */
export const pluralize = (amount: number, one: string, many = `${one}s`): string =>
  `${formatCount(amount)} ${amount === 1 ? one : many}`;
