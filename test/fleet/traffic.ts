// Clients that read and write in some workspaces of a fleet while it is rolled out and its server is killed.
import { setTimeout as sleep } from 'node:timers/promises';

export interface Place {
  /** Below /api/v1/{organization}/. */
  readonly workspace: string;
  readonly key: string;
}

/** The server at the moment; it changes its address when it is killed and started again. */
export interface Target {
  url: string;
  isDown: boolean;
  kills: number;
}

export interface Traffic {
  /** Ends the clients. */
  stop(): Promise<TrafficReport>;
}

export interface TrafficReport {
  readonly requests: number;
  /** Requests that failed other than by a kill. */
  readonly failures: readonly string[];
  /** Acknowledged writes by workspace. */
  readonly written: ReadonlyMap<string, number>;
}

const PAUSE_MS = 5;

export function startTraffic(target: Target, organization: string, places: readonly Place[], clients = 3): Traffic {
  const failures: string[] = [];
  const written = new Map<string, number>();
  let requests = 0;
  let isOver = false;

  /** Returns the status, or undefined when the request was cut off by a kill. */
  async function send({ workspace, key }: Place, path: string, body?: object): Promise<number | undefined> {
    const { kills } = target;
    requests++;
    try {
      const answer = await fetch(`${target.url}/api/v1/${organization}/${workspace}/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.status >= 400 && answer.status !== 404)
        failures.push(`${workspace}/${path}: ${answer.status} ${text}`);
      return answer.status;
    } catch (error) {
      if (target.kills === kills && !target.isDown) failures.push(`${workspace}/${path}: ${String(error)}`);
      return undefined;
    }
  }

  /** Reads the entity by the name that it has in the version of the workspace, which changes once. */
  async function read(place: Place): Promise<void> {
    const answers: (number | undefined)[] = [];
    for (const path of ['issues?size=5', 'tickets?size=5', 'issues?size=5']) {
      answers.push(await send(place, path));
      if (answers.at(-1) !== 404) return;
    }
    failures.push(`${place.workspace}: neither issues nor tickets (${answers.join(', ')})`);
  }

  async function write(place: Place): Promise<void> {
    if ((await send(place, 'customers', { name: 'traffic' })) === 201)
      written.set(place.workspace, (written.get(place.workspace) ?? 0) + 1);
  }

  async function work(first: number): Promise<void> {
    for (let turn = first; !isOver; turn += clients) {
      if (target.isDown) {
        await sleep(PAUSE_MS);
        continue;
      }
      const place = places[turn % places.length] as Place;
      await (turn % 3 === 0 ? write(place) : read(place));
      await sleep(PAUSE_MS);
    }
  }

  const all = Promise.all(Array.from({ length: clients }, (_, index) => work(index)));
  return {
    async stop() {
      isOver = true;
      await all;
      return { requests, failures, written };
    },
  };
}
