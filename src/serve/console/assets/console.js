// The console. Pages are rendered by the service; htmx puts them into the frame.
'use strict';
const main = document.getElementById('main');
const status = document.getElementById('status');
const waiting = document.getElementById('waiting');
const signOut = document.getElementById('sign-out');
const EVERY_MS = 5000;
const HOME = '/console/overview';

const token = () => sessionStorage.getItem('token') || '';
const here = () => location.pathname === '/' ? HOME : location.pathname + location.search;
const load = () => htmx.ajax('GET', here(), { source: '#main', target: '#main' });

// a link from the terminal may bring the token; what follows '#' is never sent
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) sessionStorage.setItem('token', given);
if (given || location.pathname === '/') history.replaceState({ htmx: true }, '', here());

document.addEventListener('htmx:config:request', event => {
  event.detail.ctx.request.headers.Authorization = 'Bearer ' + token();
});

// a page of the history is asked for anew: nothing is stored
document.addEventListener('htmx:before:history:restore', event => {
  event.preventDefault();
  load();
});

document.addEventListener('htmx:error', () => {
  status.textContent = 'The service does not answer.';
});

// only a page becomes part of the page
document.addEventListener('htmx:before:response', event => {
  const answer = event.detail.ctx.response;
  if ((answer.headers.get('content-type') || '').startsWith('text/html')) return;
  event.preventDefault();
  status.textContent = 'The service could not answer (status ' + answer.status + ').';
});

function arrived() {
  signOut.hidden = !token();
  for (const link of document.querySelectorAll('header nav a')) {
    if (location.pathname.startsWith(link.getAttribute('href'))) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

document.addEventListener('htmx:after:swap', event => {
  const target = event.detail?.ctx?.target;
  if (target && target !== main && target.id !== 'main') return;
  arrived();
  // what a form has done, and what went wrong, is read out
  const said = main.querySelector('.done, [role=alert]');
  status.textContent = said ? said.textContent : '';
  const title = main.querySelector('h1') || main;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
});

document.addEventListener('htmx:after:history:update', arrived);

document.addEventListener('submit', event => {
  if (event.target.id !== 'sign-in') return;
  event.preventDefault();
  const field = document.getElementById('token');
  sessionStorage.setItem('token', field.value);
  field.value = '';
  load();
});

signOut.addEventListener('click', () => {
  sessionStorage.removeItem('token');
  waiting.hidden = true;
  load();
});

// in a list, the arrow keys go from one link to the next
document.addEventListener('keydown', event => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches?.('main .item')) return;
  const items = [...main.querySelectorAll('.item')];
  const next = items[items.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});

const authorized = { headers: { get Authorization() { return 'Bearer ' + token(); }, 'HX-Request': 'true' } };

async function refresh() {
  if (document.hidden || !token()) return;
  const answer = await fetch('/console/questions/count', authorized);
  if (!answer.ok) throw new Error('status ' + answer.status);
  const count = Number(/data-count="(\d+)"/.exec(await answer.text())?.[1] || 0);
  waiting.hidden = count === 0;
  waiting.textContent = String(count);
  // questions are never replaced under a person's hand
  const shown = document.getElementById('shown');
  if (shown && Number(shown.dataset.shown) !== count) {
    status.textContent = 'The list of questions has changed. Open Questions again to see it.';
  }
  await renew();
}

// the newest decisions, unless a person is about to use one
async function renew() {
  const busy = list => !list || list.matches(':hover, :focus-within');
  const list = document.querySelector('[data-live]');
  const path = here();
  if (busy(list)) return;
  const answer = await fetch(path, authorized);
  if (!answer.ok) throw new Error('status ' + answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const newer = page.querySelector('[data-live]');
  if (!newer || path !== here() || !list.isConnected || busy(list)) return;
  list.replaceWith(newer);
  htmx.process(newer);
}

const failed = () => { status.textContent = 'The service does not answer. What is shown may be out of date.'; };
setInterval(() => refresh().catch(failed), EVERY_MS);

load();
refresh().catch(() => {});
