// "Copy as": the request of the screen as a command or a program, in a menu, or as a text to read.
import { Button, Code, CopyButton, Group, Tabs, Text } from '@mantine/core';
import { lazy, type RefObject, Suspense, useState } from 'react';
import { stringifyExact } from '../api/json.ts';
import { createReadCall } from '../snippets/admin.ts';
import { type AdminCall, type Call, createCallAsUser, printSnippets, TOOLS, type Tool } from '../snippets/snippets.ts';
import classes from './copy-as.module.css';
import { Icon } from './icon.tsx';
import { announce } from './live-region.tsx';
import { trackLoading } from './new-build.ts';
import { useViewAs } from './permissions.ts';
import { ScrollBox } from './scroll-box.tsx';

const CopyMenu = lazy(() => trackLoading(import('./copy-menu.tsx')));

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

/** Hook that returns a printer of snippets. They send the request of the displayed user while "View as" is active. */
function usePrintSnippet({ call }: Pick<CopyAsProps, 'call'>): (tool: Tool) => string | undefined {
  const viewAs = useViewAs();
  const asUser = (one: AnyCall): AnyCall =>
    viewAs === undefined || 'path' in one ? one : createCallAsUser(one, stringifyExact(viewAs.claims));
  return (tool) => {
    const calls = call();
    return printSnippets(tool, ('length' in calls ? calls : [calls]).map(asUser));
  };
}

const cannotSend = (tool: Tool): string => `${tool} cannot send this request`;
const announceCopy = (tool: Tool): void => announce(`Copied as ${tool}. Set WDA_KEY to your key`);

/** Menu that copies the request for the chosen tool. */
export function CopyAs({ call, label = 'Copy as' }: CopyAsProps) {
  const print = usePrintSnippet({ call });
  const [isUsed, setUsed] = useState(false);
  async function copy(tool: Tool): Promise<void> {
    const text = print(tool);
    if (text === undefined) {
      announce(cannotSend(tool));
      return;
    }
    await navigator.clipboard.writeText(text);
    announceCopy(tool);
  }
  const target = (ref?: RefObject<HTMLButtonElement | null>) => (
    <Button
      variant="default"
      leftSection={<Icon name="copy" />}
      {...(ref === undefined ? { 'aria-haspopup': 'menu', onClick: () => setUsed(true) } : { ref })}
    >
      {label}
    </Button>
  );
  if (!isUsed) return target();
  return (
    <Suspense fallback={target()}>
      <CopyMenu target={target} onCopy={(tool) => void copy(tool)} />
    </Suspense>
  );
}

/** The request as a text for the chosen tool, with a button that copies it. */
export function ReadableSnippet({ call }: Pick<CopyAsProps, 'call'>) {
  const print = usePrintSnippet({ call });
  const [tool, setTool] = useState<Tool>('curl');
  const text = print(tool);
  return (
    <Tabs value={tool} onChange={(value) => setTool((value ?? 'curl') as Tool)} keepMounted={false}>
      <Tabs.List aria-label="The request for a tool">
        {TOOLS.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={tool} pt="xs">
        {text === undefined ? (
          <Text size="sm">{cannotSend(tool)}.</Text>
        ) : (
          <>
            <Group justify="space-between" mb={4}>
              <Text size="xs" c="dimmed">
                Set <Code>WDA_KEY</Code> to your key.
              </Text>
              <CopyButton value={text}>
                {({ copied, copy }) => (
                  <Button
                    variant="default"
                    size="compact-sm"
                    leftSection={<Icon name="copy" />}
                    onClick={() => {
                      copy();
                      announceCopy(tool);
                    }}
                  >
                    {copied ? 'Copied' : `Copy as ${tool}`}
                  </Button>
                )}
              </CopyButton>
            </Group>
            <ScrollBox label={`Request for ${tool}`} maxHeight={320}>
              <Code block className={classes.snippet ?? ''} dir="ltr">
                {text}
              </Code>
            </ScrollBox>
          </>
        )}
      </Tabs.Panel>
    </Tabs>
  );
}
