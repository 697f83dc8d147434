// The page of customers: the tickets of their company, a form for a new one, and their own phone number.
import { attempt, call, fill, make, readClaims, say, showComments, start } from './helpdesk.js';

const [create, profile] = ['new', 'profile'].map((id) => document.getElementById(id));

async function showTickets() {
  const tickets = await call('tickets?sort=id,desc&size=100');
  fill(
    document.querySelector('table'),
    tickets,
    ({ subject, status }) => [subject, status],
    (ticket) => showComments(ticket),
  );
}

create.addEventListener('submit', (event) => {
  event.preventDefault();
  attempt(async () => {
    const { subject, teamId } = create.elements;
    // The server adds company, status and requester.
    await call('tickets', 'POST', { subject: subject.value, teamId: Number(teamId.value) });
    create.reset();
    await showTickets();
  });
});

profile.addEventListener('submit', (event) => {
  event.preventDefault();
  attempt(async () => {
    await call(`users/${readClaims().user_id}`, 'PATCH', { phone: profile.elements.phone.value });
    say('Saved');
  });
});

start(async () => {
  const teams = await call('teams?sort=name&size=100');
  create.elements.teamId.append(...teams.map(({ id, name }) => make('option', { value: id }, name)));
  const { phone } = await call(`users/${readClaims().user_id}`);
  profile.elements.phone.value = phone ?? '';
  await showTickets();
});
