// A reporter beside node's own: the test files that took longest, so that everybody sees what the suite's time goes to.

/** What node's test runner tells (TestsStream, event 'test:summary'): once for each file, and once, without one, for all. */
interface TestEvent {
  readonly type: string;
  readonly data: { readonly file?: string; readonly duration_ms?: number };
}

const MOST = 15;

export default async function* slowest(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly file: string; readonly seconds: number }[] = [];
  for await (const { type, data } of events) {
    if (type !== 'test:summary' || data.file === undefined) continue;
    files.push({ file: data.file, seconds: (data.duration_ms ?? 0) / 1000 });
  }
  if (files.length <= MOST) return;
  files.sort((a, b) => b.seconds - a.seconds);
  const lines = files.slice(0, MOST).map(({ file, seconds }) => {
    const at = file.indexOf('/test/');
    return `${seconds.toFixed(1).padStart(8)} s  ${file.slice(at + 1)}`;
  });
  const all = files.reduce((sum, { seconds }) => sum + seconds, 0);
  yield `\nslowest of ${files.length} files, ${all.toFixed(0)} s in all, three at a time:\n${lines.join('\n')}\n`;
}
