// The page of agents: the tickets of their teams, with notes and internal comments.
import { attempt, call, fill, showComments, start } from './helpdesk.js';

async function showTickets() {
  const tickets = await call('tickets?expand=company&sort=status&sort=priority&size=100');
  fill(
    document.querySelector('table'),
    tickets,
    ({ subject, company, priority, notes, status }) => [
      subject,
      company?.name ?? '',
      priority ?? '',
      notes ?? '',
      status,
    ],
    showTicket,
  );
}

async function showTicket(ticket) {
  const solve = document.querySelector('#solve');
  solve.hidden = ticket.status === 'solved';
  solve.onclick = () =>
    attempt(async () => {
      await call(`tickets/${ticket.id}`, 'PATCH', { status: 'solved' });
      solve.hidden = true;
      await showTickets();
    });
  await showComments(ticket, (form) => ({ internal: form.elements.internal.checked }));
}

start(showTickets);
