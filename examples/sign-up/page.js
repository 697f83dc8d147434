// The page: signs a customer up, shows the key once, and the use of a workspace to whoever has its key.
const $ = (selector) => document.querySelector(selector);
const count = (number) => (number === null ? '–' : number.toLocaleString('en'));
const DAYS = 7;

/** Sends a request; returns the body of its answer, throws the message of a refusal. */
async function call(path, options) {
  const response = await fetch(path, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body;
}

/** Runs `run` when the form is sent, once at a time, and shows the message of a refusal. */
function onSubmit(form, run) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form.querySelector('button');
    button.disabled = true;
    $('#message').textContent = '';
    try {
      await run(form.elements);
    } catch (error) {
      $('#message').textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

onSubmit($('#sign-up'), async ({ company, plan }) => {
  const { workspace, api, key } = await call('sign-ups', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ company: company.value, plan: plan.value }),
  });
  $('#api').textContent = api;
  $('#key').textContent = key;
  $('#try').textContent = `curl -H 'Authorization: Bearer ${key}' ${api}`;
  const usage = $('#usage').elements;
  usage.workspace.value = workspace;
  usage.key.value = key;
  $('#sign-up').hidden = true;
  $('#customer').hidden = false;
  $('#customer').focus();
});

onSubmit($('#usage'), async ({ workspace, key }) => {
  const { records, bytes, limits, days } = await call(`usage?${new URLSearchParams({ workspace: workspace.value })}`, {
    headers: { authorization: `Bearer ${key.value}` },
  });
  showPart('records', records, limits.maxRecords);
  showPart('bytes', bytes, limits.maxBytes);
  const rows = days.slice(-DAYS).map((day) => {
    const row = document.createElement('tr');
    for (const text of [day.date, count(day.requests), count(day.records), count(day.bytes)])
      row.insertCell().textContent = text;
    return row;
  });
  $('#used tbody').replaceChildren(...rows);
  $('#used').hidden = false;
});

function showPart(name, used, limit) {
  const meter = $(`#${name}`);
  meter.hidden = limit === null;
  meter.max = limit ?? 1;
  meter.value = used;
  $(`#${name}-text`).textContent = limit === null ? count(used) : `${count(used)} of ${count(limit)}`;
}
