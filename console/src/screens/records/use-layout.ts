// How the columns of an entity are shown: which and in which order is in the address, and with widths and pins in the browser.
import { useCallback, useEffect, useMemo, useState } from 'react';
import { type ColumnLayout, layoutOf, layoutText } from '../../grid/columns.ts';
import { namesOf } from '../../records/list-query.ts';
import type { EntityPlace } from '../../records/requests.ts';

const keyOf = ({ org, ws, entity }: EntityPlace): string => `wda.columns.${org}/${ws}/${entity}`;

function stored(at: EntityPlace): ColumnLayout {
  try {
    return layoutOf(localStorage.getItem(keyOf(at)));
  } catch {
    return layoutOf(null);
  }
}

/** `fields`: what of it the address says; `setFields` writes it there. */
export function useLayout(
  at: EntityPlace,
  fields: string | undefined,
  setFields: (fields: string | undefined) => void,
) {
  const [kept, setKept] = useState(() => stored(at));
  // Who comes without an address of columns gets those of the last time.
  useEffect(() => {
    if (fields === undefined && kept.shown !== undefined) setFields(kept.shown.join(','));
  }, [fields, kept.shown, setFields]);
  const layout = useMemo<ColumnLayout>(
    () => ({ ...kept, shown: fields === undefined ? undefined : namesOf(fields) }),
    [kept, fields],
  );
  const setLayout = useCallback(
    (next: ColumnLayout) => {
      setKept(next);
      try {
        localStorage.setItem(keyOf(at), layoutText(next));
      } catch {}
      const text = next.shown?.join(',');
      if (text !== fields) setFields(text);
    },
    [at, fields, setFields],
  );
  return [layout, setLayout] as const;
}
