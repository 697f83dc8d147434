// The public page: nobody signs in. Its key acts as the role public, so it may stand here for everybody to read.
import { config } from './config.js';
import { attempt, call, make } from './helpdesk.js';

const read = (path) => call(path, 'GET', undefined, config.statusKey);
const show = (id, items) => document.getElementById(id).replaceChildren(...items.map((item) => make('li', {}, item)));

attempt(async () => {
  const [services, incidents] = await Promise.all([
    read('services?sort=name'),
    read('incidents?sort=startedAt,desc&expand=service&size=20'),
  ]);
  show(
    'services',
    services.map(({ name, state }) => `${name}: ${state}`),
  );
  show(
    'incidents',
    incidents.map(({ title, text, service }) => `${service?.name}: ${title}. ${text ?? ''}`),
  );
});
