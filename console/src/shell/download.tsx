// Download of a file of the API by a plain link: it sends the cookie, and no file has to fit into memory. While "View
// as" is active, the page fetches the file for the user and holds it.
import { Menu } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { CONSOLE_API, send } from '../api/request.ts';
import { ErrorAlert } from './error-alert.tsx';
import { useViewAs } from './permissions.ts';
import { saveFile } from './save-file.ts';

export interface DownloadItemProps {
  /** Path below /console/api, such as `/v1/demo/shop/orders/_export?format=csv`. */
  readonly path: string;
  readonly filename: string;
  readonly children: ReactNode;
}

/** Download as a menu item. */
export function DownloadItem({ path, filename, children }: DownloadItemProps) {
  const isViewing = useViewAs() !== undefined;
  const saving = useMutation({ mutationFn: async () => saveFile(await (await send({ path })).blob(), filename) });
  if (!isViewing)
    return (
      <Menu.Item component="a" href={CONSOLE_API + path} download={filename}>
        {children}
      </Menu.Item>
    );
  return (
    <>
      <Menu.Item closeMenuOnClick={false} onClick={() => saving.mutate()}>
        {children}
      </Menu.Item>
      <ErrorAlert error={saving.error} />
    </>
  );
}
