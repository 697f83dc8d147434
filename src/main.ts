#!/usr/bin/env node
// Entry of the process: runs the command line and keeps the exit code. `wda serve` is the server.

import { run } from './cli/run.ts';

const code = await run(process.argv.slice(2));
// The server sets an exit code of its own when it ends; 0 must not cover it.
if (code !== 0) process.exitCode = code;
