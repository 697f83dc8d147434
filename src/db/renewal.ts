// When connections are left as their server takes no writes any more. New ones may still come to the same server, by an address
// that leads elsewhere only a moment later: those would be read from for ever, as no write meets them.

export interface Renewal {
  /** A write met a server that takes none. */
  met(): void;
  stop(): void;
}

export interface RenewalOptions {
  /** Leaves all connections for new ones. */
  readonly renew: () => void;
  /** The shortest time between two renewals, in milliseconds. */
  readonly pauseMs: number;
}

/** Renews at the first such write, again while they go on, and once more a pause after the last one. */
export function makeRenewal({ renew, pauseMs }: RenewalOptions): Renewal {
  let renewedAt = Number.NEGATIVE_INFINITY;
  let last: NodeJS.Timeout | undefined;
  return {
    met() {
      clearTimeout(last);
      last = setTimeout(renew, pauseMs);
      last.unref();
      if (performance.now() - renewedAt < pauseMs) return;
      renewedAt = performance.now();
      renew();
    },
    stop: () => clearTimeout(last),
  };
}
