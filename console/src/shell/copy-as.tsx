// "Copy as" menu: the request of the screen as a command or a program.
import { Button, Menu } from '@mantine/core';
import { stringifyExact } from '../api/json.ts';
import { createReadCall } from '../snippets/admin.ts';
import { type AdminCall, type Call, createCallAsUser, printSnippets, type Tool } from '../snippets/snippets.ts';
import { Icon } from './icon.tsx';
import { announce } from './live-region.tsx';
import { useViewAs } from './permissions.ts';

const TOOLS: readonly Tool[] = ['curl', 'fetch', 'TypeScript', 'wda'];

type AnyCall = Call | AdminCall;

export interface CopyAsProps {
  /** Returns the request when the user copies it. */
  readonly call: () => AnyCall | readonly AnyCall[];
  /** Label, for a screen with several menus. */
  readonly label?: string;
}

/** "Copy as" for what a screen of administration reads; see createReadCall(). */
export const CopyReadAs = ({ path, wda }: { readonly path: string; readonly wda?: string }) => (
  <CopyAs call={() => createReadCall(location.origin, path, wda)} />
);

/** Copies the request of the displayed user while "View as" is active. */
export function CopyAs({ call, label = 'Copy as' }: CopyAsProps) {
  const viewAs = useViewAs();
  const asUser = (one: AnyCall): AnyCall =>
    viewAs === undefined || 'path' in one ? one : createCallAsUser(one, stringifyExact(viewAs.claims));
  async function copy(tool: Tool): Promise<void> {
    const calls = call();
    const text = printSnippets(tool, ('length' in calls ? calls : [calls]).map(asUser));
    if (text === undefined) {
      announce(`${tool} cannot send this request`);
      return;
    }
    await navigator.clipboard.writeText(text);
    announce(`Copied as ${tool}. Set WDA_KEY to your key`);
  }
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon name="copy" />}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {TOOLS.map((tool) => (
          <Menu.Item key={tool} onClick={() => void copy(tool)}>
            {tool}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
