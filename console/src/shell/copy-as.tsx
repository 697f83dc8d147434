// "Copy as": what the screen shows, or is about to send, as a command or a program.
import { Button, Menu } from '@mantine/core';
import { type Call, snippet, type Tool } from '../snippets/snippets.ts';
import { Icon } from './icon.tsx';
import { say } from './said.tsx';

const TOOLS: readonly Tool[] = ['curl', 'fetch', 'TypeScript', 'wda'];

/** `call` is asked for when something is copied. */
export function CopyAs({ call }: { readonly call: () => Call }) {
  async function copy(tool: Tool): Promise<void> {
    const text = snippet(tool, call());
    if (text === undefined) {
      say(`${tool} has no words for this request`);
      return;
    }
    await navigator.clipboard.writeText(text);
    say(`Copied as ${tool}. Put your key into WDA_KEY`);
  }
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" leftSection={<Icon name="copy" />}>
          Copy as
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
