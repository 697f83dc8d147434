// "Copy as": what the screen shows, or is about to send, as a command or a program.
import { Button, Menu } from '@mantine/core';
import { stringifyExact } from '../api/json.ts';
import { type AdminCall, type Call, callAsUser, snippet, type Tool } from '../snippets/snippets.ts';
import { Icon } from './icon.tsx';
import { useViewAs } from './rights.ts';
import { say } from './said.tsx';

const TOOLS: readonly Tool[] = ['curl', 'fetch', 'TypeScript', 'wda'];

/** `call` is asked for when something is copied. While a user is viewed as, the copy gets what that user gets. */
export function CopyAs({ call }: { readonly call: () => Call | AdminCall }) {
  const viewAs = useViewAs();
  function copied(): Call | AdminCall {
    const asked = call();
    return viewAs === undefined || 'path' in asked ? asked : callAsUser(asked, stringifyExact(viewAs.claims));
  }
  async function copy(tool: Tool): Promise<void> {
    const text = snippet(tool, copied());
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
