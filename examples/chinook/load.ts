// Loads the Chinook music shop: creates organization chinook and workspace music, applies schema.yaml and imports the 11
// CSV files of a directory with their ids. Run it again at will: records are updated, none are doubled.
//
//   npm run chinook -- CSV_DIR [--url http://localhost:3000] [--key ADMIN_KEY]

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ADMIN_PREFIX, type AdminClient } from '../../src/cli/admin-client.ts';
import { connect, entityPath, organizationPath, workspacePath } from '../../src/cli/command.ts';
import { describeImport, sendRecords } from '../../src/cli/commands/transfer.ts';
import {
  CommandFailure,
  describeFailure,
  exitCode,
  runtimeFailure,
  toFailure,
  usageFailure,
} from '../../src/cli/failure.ts';
import { openSource, processIo } from '../../src/cli/io.ts';
import { showsProgress, startTransferBar } from '../../src/cli/progress.ts';
import { readSchemaFile } from '../../src/cli/schema-file.ts';

const IO = processIo();
const ADDRESS = { organization: 'chinook', workspace: 'music' };

// In the order of their foreign keys, so that every import finds what it refers to. Employees refer to each other:
// foreign keys are checked at the end of a file.
const FILES: readonly { readonly file: string; readonly entity: string; readonly map: string }[] = [
  { file: 'Artist.csv', entity: 'artists', map: 'ArtistId:id,Name:name' },
  { file: 'Album.csv', entity: 'albums', map: 'AlbumId:id,Title:title,ArtistId:artistId' },
  { file: 'Genre.csv', entity: 'genres', map: 'GenreId:id,Name:name' },
  { file: 'MediaType.csv', entity: 'mediaTypes', map: 'MediaTypeId:id,Name:name' },
  {
    file: 'Track.csv',
    entity: 'tracks',
    map: 'TrackId:id,Name:name,AlbumId:albumId,MediaTypeId:mediaTypeId,GenreId:genreId,Composer:composer,Milliseconds:milliseconds,Bytes:bytes,UnitPrice:unitPrice',
  },
  { file: 'Playlist.csv', entity: 'playlists', map: 'PlaylistId:id,Name:name' },
  // No id column: the server gives the ids.
  { file: 'PlaylistTrack.csv', entity: 'playlistTracks', map: 'PlaylistId:playlistId,TrackId:trackId' },
  {
    file: 'Employee.csv',
    entity: 'employees',
    map: 'EmployeeId:id,LastName:lastName,FirstName:firstName,Title:title,ReportsTo:reportsToId,BirthDate:birthDate,HireDate:hireDate,Address:address,City:city,State:state,Country:country,PostalCode:postalCode,Phone:phone,Fax:fax,Email:email',
  },
  {
    file: 'Customer.csv',
    entity: 'customers',
    map: 'CustomerId:id,FirstName:firstName,LastName:lastName,Company:company,Address:address,City:city,State:state,Country:country,PostalCode:postalCode,Phone:phone,Fax:fax,Email:email,SupportRepId:supportRepId',
  },
  {
    file: 'Invoice.csv',
    entity: 'invoices',
    map: 'InvoiceId:id,CustomerId:customerId,InvoiceDate:invoiceDate,BillingAddress:billingAddress,BillingCity:billingCity,BillingState:billingState,BillingCountry:billingCountry,BillingPostalCode:billingPostalCode,Total:total',
  },
  {
    file: 'InvoiceLine.csv',
    entity: 'invoiceLines',
    map: 'InvoiceLineId:id,InvoiceId:invoiceId,TrackId:trackId,UnitPrice:unitPrice,Quantity:quantity',
  },
];

const USAGE = 'Usage: npm run chinook -- CSV_DIR [--url URL] [--key KEY]   (or WDA_URL, WDA_ADMIN_KEY)';

async function load(args: readonly string[]): Promise<void> {
  const { directory, url, key } = readArguments(args);
  await requireFiles(directory);
  const client = connect({ io: IO, ...(url === undefined ? {} : { url }), ...(key === undefined ? {} : { key }) });

  await create(client, organizationPath(ADDRESS.organization), `${ADMIN_PREFIX}/organizations`, {
    slug: ADDRESS.organization,
    name: 'Chinook',
  });
  await create(client, workspacePath(ADDRESS), `${organizationPath(ADDRESS.organization)}/workspaces`, {
    slug: ADDRESS.workspace,
    name: 'Music shop',
  });
  await applySchema(client);
  for (const { file, entity, map } of FILES) await importCsv(client, join(directory, file), entity, map);
  await printKey(client);
}

function readArguments(args: readonly string[]): {
  directory: string;
  url: string | undefined;
  key: string | undefined;
} {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { url: { type: 'string' }, key: { type: 'string' } },
      allowPositionals: true,
    });
    const [directory, ...more] = positionals;
    if (directory === undefined || more.length > 0) throw new Error('One directory with the CSV files is needed');
    return { directory, url: values.url, key: values.key };
  } catch (error) {
    throw usageFailure((error as Error).message, [USAGE]);
  }
}

/** All files that are missing at once, before anything is created. */
async function requireFiles(directory: string): Promise<void> {
  const missing: string[] = [];
  for (const { file } of FILES) await access(join(directory, file)).catch(() => missing.push(file));
  if (missing.length > 0) throw runtimeFailure(`${directory} lacks ${missing.join(', ')}`);
}

/** Creates what is not there yet. */
async function create(
  client: AdminClient,
  path: string,
  list: string,
  body: { readonly slug: string; readonly name: string },
): Promise<void> {
  try {
    await client.send('GET', path);
    console.log(`${body.slug} is there already`);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failure.kind !== 'refused' || error.failure.status !== 404)
      throw error;
    await client.send('POST', list, { body });
    console.log(`${body.slug} created`);
  }
}

async function applySchema(client: AdminClient): Promise<void> {
  const { document } = await readSchemaFile(IO, join(import.meta.dirname, 'schema.yaml'));
  const { status } = await client.send('PUT', `${workspacePath(ADDRESS)}/schema`, {
    body: document,
    query: [['wait', 60]],
  });
  if (status !== 200)
    throw runtimeFailure('The schema was not in force within a minute: look at wda migration list -w chinook/music');
  console.log('schema applied');
}

async function importCsv(client: AdminClient, path: string, entity: string, map: string): Promise<void> {
  // Without ids nothing tells a record of the file from one that is there: an entity that has records keeps them.
  const hasIds = map.includes(':id,');
  if (!hasIds) {
    const { meta } = await client.send('GET', entityPath(ADDRESS, entity), { query: [['size', 1]] });
    const { totalElements } = meta as { readonly totalElements: number };
    if (totalElements > 0)
      return console.log(`${entity}: ${totalElements} records are there already, the file has no ids: left as it is`);
  }
  const source = await openSource(IO, path);
  const bar = startTransferBar(IO, showsProgress({ io: IO }), entity, 'bytes', source.size);
  try {
    const result = await sendRecords(client, ADDRESS, entity, {
      format: 'csv',
      body: source.chunks,
      parameters: [
        ['map', map],
        ['onConflict', hasIds ? 'update' : undefined],
      ],
      onProgress: (bytes, whole) => bar.update(bytes, whole ? 'checking and storing' : undefined),
    });
    bar.stop();
    console.log(describeImport(entity, result));
  } finally {
    bar.stop();
    await source.close();
  }
}

/** A fresh key for reading and writing records, and a line to try it with. */
async function printKey(client: AdminClient): Promise<void> {
  const { data } = await client.send('POST', `${workspacePath(ADDRESS)}/api-keys`, {
    body: { name: 'Chinook example', permissions: 'READ_WRITE' },
  });
  const { key } = data as { readonly key: string };
  const example = `${client.url}${entityPath(ADDRESS, 'albums')}/1?expand=artist,tracks&fields=title,artist.name,tracks.name`;
  console.log(`\nAPI key (reads and writes records, shown this once): ${key}\n`);
  console.log(`curl -H 'Authorization: Bearer ${key}' '${example}'`);
}

try {
  await load(process.argv.slice(2));
} catch (error) {
  const failure = toFailure(error);
  console.error(describeFailure(failure));
  process.exitCode = exitCode(failure.failure);
}
