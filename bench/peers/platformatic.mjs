// Platformatic DB on the tables of a schema: PORT, DATABASE_URL, DATA_SCHEMA.
import { create } from '@platformatic/db';

const server = await create(
  import.meta.dirname,
  {
    $schema: 'https://schemas.platformatic.dev/@platformatic/db/3.67.0.json',
    server: { hostname: '127.0.0.1', port: Number(process.env.PORT), logger: { level: 'error' } },
    db: {
      connectionString: process.env.DATABASE_URL,
      schema: [process.env.DATA_SCHEMA],
      graphql: true,
      openapi: true,
      limit: { default: 20, max: 1000 },
      ignore: Object.fromEntries(process.env.IGNORED_TABLES.split(',').map((name) => [name, true])),
    },
    watch: false,
  },
  { isProduction: true, isStandalone: true },
);
await server.start({ listen: true });
process.on('SIGTERM', () => process.exit(0));
