// How many connections for slow statements one workspace may have at once: all but one, so that there is always one for
// the others. What is beyond that waits in a queue of the workspace's own.
import { queueFull } from './pipeline.ts';

export interface Shares {
  /** Resolves with the function that gives the share back, to be called once; 503 when too many wait. */
  take(tenant: string): Promise<() => void>;
}

interface Tenant {
  active: number;
  readonly waiting: (() => void)[];
}

/** `limit`: at once for one tenant; `maxWaiting`: in its queue. */
export function makeShares(limit: number, maxWaiting: number): Shares {
  // Only tenants with something active are here.
  const tenants = new Map<string, Tenant>();
  return {
    async take(name) {
      let tenant = tenants.get(name);
      if (tenant === undefined) {
        tenant = { active: 0, waiting: [] };
        tenants.set(name, tenant);
      }
      const { waiting } = tenant;
      const own = tenant;
      if (own.active < limit) own.active++;
      else if (waiting.length >= maxWaiting) throw queueFull();
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return () => {
        const next = waiting.shift();
        if (next !== undefined) next();
        else if (--own.active === 0) tenants.delete(name);
      };
    },
  };
}
