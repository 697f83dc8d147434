// Cases that were kept, as the file of `wda access test`: what holds today is held to in CI.
import { Button, Group, Stack, Title } from '@mantine/core';
import { CodeToCopy } from '../../access/copyable-code.tsx';
import { type AccessCase, caseFile, type RulesByEntity, rulesFile } from '../../access/rules.ts';
import type { Place } from '../../api/workspace.ts';
import { saveFile } from '../../shell/download.tsx';
import { shellWord } from '../../snippets/snippets.ts';

const CASES = 'access-cases.yaml';
const RULES = 'access-rules.yaml';

const save = (text: string, name: string): void => saveFile(new Blob([text], { type: 'application/yaml' }), name);

export interface CasesProps {
  readonly place: Place;
  readonly cases: readonly AccessCase[];
  readonly draft: RulesByEntity;
  readonly onClear: () => void;
}

export function Cases({ place, cases, draft, onClear }: CasesProps) {
  if (cases.length === 0) return null;
  const file = caseFile(cases);
  const tried = draft.size === 0 ? '' : ` --rules ${RULES}`;
  return (
    <Stack gap="xs" mt="md">
      <Title order={3}>Cases</Title>
      <CodeToCopy label="File" text={file} />
      <CodeToCopy
        label="Command"
        text={`wda access test ${CASES} -w ${shellWord(`${place.org}/${place.ws}`)}${tried}`}
      />
      <Group>
        <Button variant="default" onClick={() => save(file, CASES)}>
          Download cases
        </Button>
        {draft.size > 0 && (
          <Button variant="default" onClick={() => save(rulesFile(draft), RULES)}>
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
