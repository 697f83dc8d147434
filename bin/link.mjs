// Links the command into node_modules/.bin, for `npx wda` and the scripts of npm: npm links the commands of dependencies, not
// that of the package itself. Plain JavaScript, as `npm ci` runs it on whatever Node.js is there.
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../node_modules/.bin', import.meta.url));
// Windows runs no scripts of the shell: `npm run wda` is left.
if (process.platform !== 'win32' && existsSync(folder)) {
  rmSync(`${folder}/wda`, { force: true });
  symlinkSync('../../bin/wda', `${folder}/wda`);
}
