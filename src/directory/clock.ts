// A clock for the age of things, in a process that may have been stopped meanwhile, or on a machine that slept.

// Clocks of one machine drift apart by less.
const JUMP_MS = 100;
// The wall clock is read at most once in this time: reading takes 0.4 µs on some machines, and each request asks for
// the time.
const LOOK_MS = 1;

/**
 * Milliseconds that never go back. The monotonic clock goes on while a process is stopped, but not while its machine
 * sleeps: when the wall clock has moved more, the difference is added. Something that seems too old by mistake is only
 * asked for again.
 */
export function makeClock(
  monotonic: () => number = () => performance.now(),
  wall: () => number = () => Date.now(),
): () => number {
  let slept = 0;
  let from = monotonic();
  let wallFrom = wall();
  let lookedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = monotonic();
    if (now - lookedAt < LOOK_MS) return now + slept;
    lookedAt = now;
    const wallNow = wall();
    const jumped = wallNow - wallFrom - (now - from);
    if (jumped > JUMP_MS || jumped < -JUMP_MS) {
      if (jumped > 0) slept += jumped;
      from = now;
      wallFrom = wallNow;
    }
    return now + slept;
  };
}
