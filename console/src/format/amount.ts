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

const AMOUNT = /^(\d+(?:[.,]\d+)?)\s*(B|kB|MB|GB|TB)?$/i;

/** Parses an amount, or one of bytes with its unit: `1000`, `1,000,000`, `500 MB`. Returns undefined if it is none. */
export function parseAmount(text: string): number | undefined {
  const plain = text.trim().replace(/(?<=\d),(?=\d{3}(?:\D|$))/g, '');
  const [, amount, unit = 'B'] = AMOUNT.exec(plain) ?? [];
  if (amount === undefined) return undefined;
  const power = UNITS.findIndex((one) => one.toLowerCase() === unit.toLowerCase());
  return Math.round(Number(amount.replace(',', '.')) * 1000 ** power);
}
