// A file of the API: a plain link, as the cookie goes with it and no file has to fit into memory. While somebody is viewed as, the
// page asks in their place and has to hold it.
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DOOR, send } from '../api/ask.ts';
import { Refused } from './refused.tsx';
import { useViewAs } from './rights.ts';

export interface DownloadProps {
  /** Below /console/api, such as `/v1/demo/shop/orders/_export?format=csv`. */
  readonly path: string;
  readonly filename: string;
  readonly children: ReactNode;
}

export function Download({ path, filename, children }: DownloadProps) {
  const isViewing = useViewAs() !== undefined;
  const [error, setError] = useState<unknown>();
  if (!isViewing)
    return (
      <Button component="a" href={DOOR + path} download={filename}>
        {children}
      </Button>
    );
  async function save(): Promise<void> {
    setError(undefined);
    try {
      saveFile(await (await send({ path })).blob(), filename);
    } catch (thrown) {
      setError(thrown);
    }
  }
  return (
    <>
      <Button onClick={() => void save()}>{children}</Button>
      <Refused error={error} />
    </>
  );
}

/** Gives a file of the page to the one who looks at it. */
export function saveFile(content: Blob, filename: string): void {
  const url = URL.createObjectURL(content);
  const link = Object.assign(document.createElement('a'), { href: url, download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
