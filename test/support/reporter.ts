// What `npm test` prints: node's own report, with one line for a file whose tests are all skipped, and in the end the
// files that took longest, so that everybody sees what the time goes to. What failed is written to the path of
// TEST_FAILURES, a line each.
import { appendFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

/** The events of node's test runner (TestsStream) that are looked at. */
interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name: string;
    readonly nesting: number;
    readonly skip?: string | boolean;
    readonly details?: { readonly duration_ms?: number; readonly type?: string };
  };
}

const SHOWN = 15;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly name: string; readonly seconds: number }[] = [];
  yield* Readable.from(withSkippedFiles(events, files)).compose(new spec());
  if (files.length <= SHOWN) return;
  files.sort((a, b) => b.seconds - a.seconds);
  const sum = files.reduce((total, { seconds }) => total + seconds, 0);
  const lines = files.slice(0, SHOWN).map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`);
  yield `\nslowest of ${files.length} files, ${sum.toFixed(0)} s in all, three at a time:\n${lines.join('\n')}\n`;
}

/** Holds the tests of a file back as long as they are skipped, and gives one result for all when none has run. */
async function* withSkippedFiles(
  events: AsyncIterable<TestEvent>,
  files: { name: string; seconds: number }[],
): AsyncGenerator<TestEvent> {
  let held: TestEvent[] = [];
  let reasons: string[] = [];
  let hasRun = false;
  for await (const event of events) {
    const { type, data } = event;
    const isResult = type === 'test:pass' || type === 'test:fail';
    // A process that ends by itself fails under the name of its program.
    if (type === 'test:fail' && data.nesting === 0 && process.env.TEST_FAILURES)
      appendFileSync(process.env.TEST_FAILURES, `${data.name}\n`);
    if (isResult && data.nesting === 0 && data.details?.type === 'suite') {
      files.push({ name: data.name, seconds: (data.details.duration_ms ?? 0) / 1000 });
      const skip = `${reasons.length} tests: ${[...new Set(reasons)].join('; ')}`;
      yield reasons.length === 0 ? event : { type, data: { ...data, skip } };
      [held, reasons, hasRun] = [[], [], false];
    } else if (hasRun || data.nesting === 0 || data.nesting === undefined) yield event;
    else {
      held.push(event);
      if (isResult && data.skip !== undefined) reasons.push(String(data.skip));
      if (isResult && data.skip === undefined) {
        yield* held;
        [held, reasons, hasRun] = [[], [], true];
      }
    }
  }
}
