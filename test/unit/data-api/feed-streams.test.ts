// Limits of streams and waiting requests in one process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FeedStreams, makeFeedStreams } from '../../../src/data-api/feed-streams.ts';

type Follower = Parameters<FeedStreams['take']>[0];

/** A request of a key of the workspace. */
const makeFollower = (workspaceId: string, credentialId: string): Follower =>
  ({ workspace: { id: workspaceId }, principal: { kind: 'owner', credentialId } }) as unknown as Follower;

/** Takes places, each by another key, until one is refused; returns their releases. */
function takeAll(streams: FeedStreams, workspaceId: string, kind: 'stream' | 'poll' = 'stream'): (() => void)[] {
  const releases: (() => void)[] = [];
  for (let key = 0; ; key++) {
    try {
      releases.push(streams.take(makeFollower(workspaceId, `key:${key}`), kind));
    } catch (error) {
      assert.equal((error as { status: number }).status, 429);
      return releases;
    }
  }
}

test('a workspace with many keys leaves the last tenth to others', () => {
  const streams = makeFeedStreams({ maxStreams: 100, streamsPerCredential: 10 });
  const first = takeAll(streams, '1');
  assert.equal(first.length, 90);
  assert.equal(takeAll(streams, '2', 'poll').length, 10);
  assert.equal(takeAll(streams, '3').length, 0);
  first.slice(0, 30).forEach((release) => {
    release();
    release();
  });
  assert.equal(takeAll(streams, '1').length, 20);
  assert.equal(takeAll(streams, '3').length, 10);
});

test('a process with few places has no tenth to keep', () => {
  const streams = makeFeedStreams({ maxStreams: 3, streamsPerCredential: 10 });
  assert.equal(takeAll(streams, '1').length, 3);
});
