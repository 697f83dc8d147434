// `wda org`: organizations, which hold workspaces. The operator's credential is needed.
import { ADMIN_PREFIX } from './admin-client.ts';
import { connect, type GlobalOptions, organizationPath } from './connection.ts';
import { printResult } from './io.ts';
import { printable, renderTable } from './table.ts';

interface Organization {
  readonly slug: string;
  readonly name: string;
  readonly createdAt?: string;
}

/** Creates an organization; its name is the slug unless one is given. */
export async function createOrganization(
  slug: string,
  options: GlobalOptions & { readonly name?: string },
): Promise<void> {
  const { data } = await connect(options).send('POST', `${ADMIN_PREFIX}/organizations`, {
    body: { slug, name: options.name ?? slug },
  });
  await printResult(options, data, () => `Created organization ${printable((data as Organization).slug)}`);
}

export async function listOrganizations(options: GlobalOptions): Promise<void> {
  const found = (await connect(options).readAll(`${ADMIN_PREFIX}/organizations`)) as readonly Organization[];
  await printResult(options, found, () =>
    found.length === 0
      ? 'No organizations'
      : renderTable(
          ['SLUG', 'NAME', 'CREATED'],
          found.map(({ slug, name, createdAt }) => [slug, name, createdAt]),
        ),
  );
}

/** Deletes an empty organization; the server refuses one that still has workspaces. */
export async function deleteOrganization(slug: string, options: GlobalOptions): Promise<void> {
  await connect(options).send('DELETE', organizationPath(slug));
  await printResult(options, { deleted: slug }, () => `Deleted organization ${slug}`);
}
