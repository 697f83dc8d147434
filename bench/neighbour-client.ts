// Child process of neighbours.ts: the requests of the workspace whose figures are taken. A number of requests a second by
// id, of lists and of creates, each sent when it is due whether or not those before it are answered; its time counts from
// when it was due. Argument: a Calm as JSON. At the end it prints a CalmResult as JSON.

import { Agent, request } from 'node:http';

export type Calm = {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly records: number;
  readonly perSecond: number;
  readonly seconds: number;
};

/** Times in milliseconds, in the order of sending; what failed, by status (0: no answer). */
export type CalmResult = { readonly times: readonly number[]; readonly failed: Readonly<Record<string, number>> };

const calm = JSON.parse(process.argv[2] ?? '') as Calm;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const times: number[] = [];
const failed: Record<string, number> = {};
const KINDS = [
  (index: number) => ['GET', `/notes/${1 + ((index * 7919) % calm.records)}`, undefined],
  () => ['GET', '/notes?size=20&sort=id,desc', undefined],
  (index: number) => ['POST', '/notes', `{"text":"note ${index}","rank":${index}}`],
] as const;

/** Status of the answer; 0 when there was none. */
function send(index: number): Promise<number> {
  const [method, path, body] = (KINDS[index % KINDS.length] as (typeof KINDS)[number])(index);
  return new Promise((resolve) => {
    const sent = request(
      {
        agent,
        port: calm.port,
        method,
        path: calm.path + path,
        headers: {
          authorization: `Bearer ${calm.key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', () => resolve(0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

const started = performance.now();
const count = calm.perSecond * calm.seconds;
const answers: Promise<void>[] = [];
for (let index = 0; index < count; index++) {
  const due = started + (index * 1000) / calm.perSecond;
  const wait = due - performance.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  answers.push(
    send(index).then((status) => {
      times[index] = performance.now() - due;
      if (status < 200 || status > 299) failed[status] = (failed[status] ?? 0) + 1;
    }),
  );
}
await Promise.all(answers);
agent.destroy();
process.stdout.write(`${JSON.stringify({ times, failed } satisfies CalmResult)}\n`);
