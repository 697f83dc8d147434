// What the pages share: sign-in by authorization code with PKCE (RFC 7636), requests, and a few elements.
import { config } from './config.js';

const $ = (selector) => document.querySelector(selector);
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const page = location.origin + location.pathname;

let token = '';

async function loadEndpoints() {
  const response = await fetch(`${config.issuer}/.well-known/openid-configuration`);
  return response.json();
}

async function signIn() {
  const signingIn = { state: random(), verifier: random() };
  sessionStorage.setItem('signIn', JSON.stringify(signingIn));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(signingIn.verifier));
  const { authorization_endpoint } = await loadEndpoints();
  location.assign(
    `${authorization_endpoint}?${new URLSearchParams({
      response_type: 'code',
      client_id: config.clientId,
      redirect_uri: page,
      scope: 'openid',
      resource: config.resource,
      state: signingIn.state,
      code_challenge: base64url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
    })}`,
  );
}

/** Exchanges the code in the address for a token, which this page holds until it is left. */
async function finishSignIn() {
  const parameters = new URLSearchParams(location.search);
  const code = parameters.get('code');
  const { state, verifier } = JSON.parse(sessionStorage.getItem('signIn') ?? '{}');
  sessionStorage.removeItem('signIn');
  history.replaceState(null, '', page);
  if (code === null || state === undefined || state !== parameters.get('state')) return;
  const { token_endpoint } = await loadEndpoints();
  const response = await fetch(token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: config.clientId,
      redirect_uri: page,
      code,
      code_verifier: verifier,
      resource: config.resource,
    }),
  });
  token = (await response.json()).access_token ?? '';
}

/** The claims of the token. The server alone checks them; the page shows what fits. */
export const readClaims = () =>
  JSON.parse(
    new TextDecoder().decode(
      Uint8Array.from(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)),
    ),
  );

/** Sends a request of the data API. Returns its `data`; throws the message of a refusal. */
export async function call(path, method = 'GET', body, key = token) {
  const response = await fetch(`${config.api}/${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
  const { data, error } = await response.json();
  if (error) throw new Error(error.message);
  return data;
}

/** Makes an element; texts become text, never HTML. */
export function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

export const say = (text) => {
  $('#message').textContent = text;
};

/** Runs `run`, and shows the message of a refusal. */
export async function attempt(run) {
  say('');
  try {
    await run();
  } catch (error) {
    say(error.message);
  }
}

/** Signs in, then runs `show`. */
export async function start(show) {
  $('#sign-in').addEventListener('click', () => attempt(signIn));
  await attempt(async () => {
    await finishSignIn();
    if (token === '') return;
    $('#sign-in').hidden = true;
    const { name } = await call(`users/${readClaims().user_id}?fields=name`);
    $('#who').textContent = `Signed in as ${name}`;
    $('main').hidden = false;
    await show();
  });
}

/** Fills a table with rows of texts and elements; a click on the first cell opens the record. */
export function fill(table, records, toCells, open) {
  table.tBodies[0].replaceChildren(
    ...records.map((record) => {
      const [first, ...rest] = toCells(record);
      const button = make('button', { type: 'button', onclick: () => attempt(() => open(record)) }, first);
      return make('tr', {}, make('th', { scope: 'row' }, button), ...rest.map((cell) => make('td', {}, cell)));
    }),
  );
}

/** Shows the comments of a ticket, and a form that adds one with the values that `readMore` adds. */
export async function showComments(ticket, readMore = () => ({})) {
  const comments = await call(`comments?filter=ticketId,eq,${ticket.id}&expand=author&sort=id&size=100`);
  const section = $('#ticket');
  section.hidden = false;
  section.querySelector('h2').textContent = ticket.subject;
  section
    .querySelector('ol')
    .replaceChildren(
      ...comments.map(({ body, author, internal }) =>
        make('li', {}, make('b', {}, author?.name ?? 'Somebody'), internal ? ' (internal)' : '', `: ${body}`),
      ),
    );
  const form = section.querySelector('form');
  form.onsubmit = (event) => {
    event.preventDefault();
    attempt(async () => {
      await call('comments', 'POST', { ticketId: ticket.id, body: form.elements.body.value, ...readMore(form) });
      form.reset();
      await showComments(ticket, readMore);
    });
  };
}
