// The fuzz of access: the same random requests of one user to a world with hidden records and to one without them. Answers
// must be equal byte for byte, and so must what is stored afterwards. ETags, versions, cursors, times and X-Request-Id are
// compared by whether they are there, ids of events and transactions by which of them are equal, and ids that refused requests
// have used up are made equal before the next request. Now and then hidden records of the first world change and change back.
import fc, { type GeneratorValue } from 'fast-check';
import { BLANKS, drawGrantedPrincipal, drawRuledPrincipal } from './access-principal.ts';
import { drawRequest, type Request, reachesHidden, targetsHidden } from './access-requests.ts';
import { findHidden, makeWorlds, type WorldKind, type Worlds } from './access-worlds.ts';
import { noteAnswer } from './error-catalog.ts';
import type { Issuer } from './issuer.ts';
import { drawRecords } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity } from './row-rules-read-model.ts';
import type { TestServer } from './server.ts';
import { keepHistory } from './views-fuzz.ts';

/** How often a kind of request was answered with a status. */
export type Tally = Map<string, number>;

const PAGES = 12;
const STIRRED = ['word', 'number', 'code'] as const;

/** Sends requests to a pair of worlds that the seed draws. Returns the first difference in words, or undefined if there is none. */
export async function fuzzWorlds(
  server: TestServer,
  issuer: Issuer,
  seed: number,
  requests: number,
  tally: Tally,
): Promise<string | undefined> {
  let difference: string | undefined;
  const property = fc.asyncProperty(fc.gen(), async (g) => {
    difference = await fuzz(g);
  });
  const { errorInstance } = await fc.check(property, { numRuns: 1, seed, endOnFailure: true });
  if (errorInstance !== null) throw errorInstance;
  return difference;

  async function fuzz(g: GeneratorValue): Promise<string | undefined> {
    const kind = (seed % 2 === 0 ? 'absent' : 'blank') satisfies WorldKind;
    const isGranted = Math.floor(seed / 2) % 2 === 0;
    const principal = isGranted ? drawGrantedPrincipal(g, kind) : drawRuledPrincipal(g);
    const { schema, document } = principal;
    const records = drawRecords(g, schema);
    const hidden = findHidden(records, (entity, id) => principal.isHidden(records, entity, id));
    const isHidden = (entity: string, id: number): boolean => hidden[entity]?.has(id) === true;
    const isMasked = (entity: string, id: number, field: string): boolean =>
      !isHidden(entity, id) && principal.isMasked(records, entity, id, field);
    const worlds = await makeWorlds(server, {
      kind,
      path: `fuzz/w${seed}`,
      document: keepHistory(document),
      records,
      hidden,
      isMasked,
    });
    const credentials: string[] = [];
    for (const workspace of worlds.workspaces) credentials.push(await principal.makeCredential(workspace, issuer));
    // Values that differ, and that the user must not see; a write may show them to it.
    const secrets = Object.entries(records).flatMap(([entity, one]) =>
      one.records.flatMap(({ id }) =>
        BLANKS.filter((field) => isHidden(entity, id) || isMasked(entity, id, field)).map(
          (field) => [entity, id, field] as const,
        ),
      ),
    );
    const isRevealed = (model: Model): boolean =>
      isGranted &&
      secrets.some(
        ([entity, id, field]) =>
          !principal.isHidden(model, entity, id) && !principal.isMasked(model, entity, id, field),
      );
    const describe = (request: Request, what: string): string =>
      [
        `npm run access:fuzz -- --seed ${seed} --requests ${requests} (hidden records of the second world: ${kind})`,
        JSON.stringify(principal.description),
        JSON.stringify(Object.fromEntries(Object.entries(hidden).map(([name, ids]) => [name, [...ids]]))),
        JSON.stringify(document),
        printRecords(worlds.model()),
        JSON.stringify(request),
        what,
      ].join('\n');
    /** Changes a hidden record to what is hidden as well, and back. */
    const stir = async (model: Model): Promise<void> => {
      const all = Object.entries(hidden).flatMap(([entity, ids]) => [...ids].map((id) => ({ entity, id })));
      if (all.length === 0) return;
      const { entity, id } = g(fc.constantFrom, ...all) as (typeof all)[number];
      const column = g(fc.constantFrom, ...STIRRED) as (typeof STIRRED)[number];
      const value = column === 'word' ? (g(fc.constantFrom, 'x', 'y', 'w', null) as string | null) : -id;
      const changed = {
        ...model,
        [entity]: {
          ...(model[entity] as ModelEntity),
          records: (model[entity] as ModelEntity).records.map((one) =>
            one.id === id ? { ...one, [column]: value } : one,
          ),
        },
      };
      const look = (one: Model): string =>
        JSON.stringify(Object.keys(one).map((name) => principal.view(one).visible(name)));
      if (look(changed) === look(model)) await worlds.stir(entity, id, { [column]: value });
    };
    for (let count = 0; count < requests; count++) {
      if (count % 5 === 4) await stir(worlds.model());
      const model = worlds.model();
      const view = principal.view(model);
      const request = drawRequest(g, schema, model, { view, readable: principal.readable(model) });
      if (principal.listStates(model, request.writes).some(isRevealed)) continue;
      if (kind === 'absent' && reachesHidden(request, schema, model, view, isHidden)) continue;
      const answers = await Promise.all([0, 1].map((index) => send(server, worlds, credentials, index, request)));
      const [one, other] = answers.map(({ text }) => text);
      if (one !== other) return describe(request, cut(one as string, other as string));
      const status = answers[0]?.status as number;
      if (status < 300 && targetsHidden(request, model, isHidden)) return describe(request, `${one}\n\nnot refused`);
      const name = `${request.kind} ${status}`;
      tally.set(name, (tally.get(name) ?? 0) + 1);
      if (request.method === 'GET' || request.method === 'HEAD') continue;
      const changes = await worlds.compare();
      if (changes !== undefined) return describe(request, `${one}\n\n${changes}`);
    }
    return undefined;
  }
}

const printRecords = (model: Model): string =>
  JSON.stringify(Object.fromEntries(Object.entries(model).map(([name, { records }]) => [name, records])));

/** Both texts from a little before their first difference on. */
function cut(one: string, other: string): string {
  let same = 0;
  while (one[same] === other[same]) same++;
  return [one, other].map((text) => text.slice(Math.max(0, same - 1000), same + 1000)).join('\n\n');
}

/** Sends the request to a world and prints the answer; with an idempotency key also the answer to the repetition, and the pages of a walk. */
async function send(
  server: TestServer,
  { workspaces }: Worlds,
  credentials: readonly string[],
  index: number,
  request: Request,
): Promise<{ status: number; text: string }> {
  const path = workspaces[index]?.path as string;
  const authorization = `Bearer ${credentials[index]}`;
  const ask = async (method: string, target: string, headers: Readonly<Record<string, string>>, body?: unknown) => {
    const answer = await fetch(`${server.url}/api/v1/${path}/${target}`, {
      method,
      headers: {
        ...(typeof body === 'object' ? { 'content-type': 'application/json' } : {}),
        ...headers,
        authorization,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    noteAnswer(text);
    return { answer, text };
  };
  const headers: Record<string, string> = { ...request.headers };
  if (typeof request.body === 'string' && headers['content-type'] === undefined)
    headers['content-type'] = 'application/json';
  if (request.etag !== undefined) {
    const { answer } = await ask('GET', request.etag.record, {});
    headers[request.etag.header] = answer.headers.get('etag') ?? '"1.1"';
  }
  const texts: string[] = [];
  let status = 0;
  let body = request.body;
  for (let times = 0; times < PAGES; times++) {
    const { answer, text } = await ask(request.method, request.path, headers, body);
    status = answer.status;
    texts.push(normalize(path, answer, text));
    if (headers['idempotency-key'] !== undefined && times === 0) continue;
    const cursor: unknown = request.isWalk === true && status === 200 ? JSON.parse(text).meta.nextCursor : null;
    if (typeof cursor !== 'string') break;
    body = { ...(request.body as object), after: cursor };
  }
  return { status, text: texts.join('\n') };
}

/** Headers that differ in any two answers, or in two with ETags or cursors of other lengths. */
const OWN_HEADERS = ['date', 'x-request-id', 'content-length', 'connection', 'keep-alive'];

/** Prints the answer without names of its workspace and numbers of its transaction. */
function normalize(path: string, answer: Response, text: string): string {
  const headers = [...answer.headers].filter(([name]) => !OWN_HEADERS.includes(name));
  const numbers = new Map<string, number>();
  const number = (id: string): string => {
    if (!numbers.has(id)) numbers.set(id, numbers.size);
    return `"id ${numbers.get(id)}"`;
  };
  return `${answer.status}\n${headers.map(([name, value]) => `${name}: ${value}`).join('\n')}\n${text}`
    .replaceAll(path.slice(path.indexOf('/') + 1), 'world')
    .replaceAll(/^etag: .*$/gm, 'etag')
    .replaceAll(/"[et]_[\w-]{22}"/g, number)
    .replaceAll(/"(nextCursor|cursor|at|completeSince|version)":"[^"]*"/g, '"$1"')
    .replaceAll(/"versions":\[[^\]]*\]/g, (list) => `"versions":${list.split(',').length}`)
    .replaceAll(/"etag":"(?:\\"|[^"])*"/g, '"etag"');
}
