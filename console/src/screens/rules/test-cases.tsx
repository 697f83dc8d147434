// Test cases of the tester as the file of `wda access test`, to check them in CI.
import { Button, Group, Stack, Title } from '@mantine/core';
import { CopyableCode } from '../../access/copyable-code.tsx';
import { type AccessCase, printRules, printTestCases, type RulesByEntity } from '../../access/rules.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { saveFile } from '../../shell/save-file.ts';
import { quoteShell } from '../../snippets/snippets.ts';

const CASES = 'access-cases.yaml';
const RULES = 'access-rules.yaml';

const save = (text: string, name: string): void => saveFile(new Blob([text], { type: 'application/yaml' }), name);

export interface TestCasesProps {
  readonly workspace: WorkspaceRef;
  readonly cases: readonly AccessCase[];
  readonly draft: RulesByEntity;
  readonly onClear: () => void;
}

export function TestCases({ workspace, cases, draft, onClear }: TestCasesProps) {
  if (cases.length === 0) return null;
  const file = printTestCases(cases);
  const tried = draft.size === 0 ? '' : ` --rules ${RULES}`;
  return (
    <Stack gap="xs" mt="md">
      <Title order={3}>Cases</Title>
      <CopyableCode label="File" text={file} />
      <CopyableCode
        label="Command"
        text={`wda access test ${CASES} -w ${quoteShell(`${workspace.org}/${workspace.ws}`)}${tried}`}
      />
      <Group>
        <Button variant="default" onClick={() => save(file, CASES)}>
          Download cases
        </Button>
        {draft.size > 0 && (
          <Button variant="default" onClick={() => save(printRules(draft), RULES)}>
            Download unsaved rules
          </Button>
        )}
        <Button variant="subtle" onClick={onClear}>
          Clear cases
        </Button>
      </Group>
    </Stack>
  );
}
