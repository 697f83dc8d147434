// Folders that tests write files into.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** Makes a folder, below that of temporary files unless another one is named; it is removed after the tests. */
export function useFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'wda-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
