// The console: shows the state of the service. Every text is inserted as text, never as markup.
'use strict';
const main = document.getElementById('main');
const status = document.getElementById('status');
let view = 'decisions';
let shown = 0;

// Text of agents may contain hidden or direction-changing characters; the console shows them as escapes.
const hidden = /(?![ \n])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}]/gu;
const visible = text => text.replace(hidden, c => '\\u{' + c.codePointAt(0).toString(16) + '}');

function el(name, fields, ...inside) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(fields || {})) {
    if (key === 'on') node.addEventListener('click', value);
    else node.setAttribute(key, value);
  }
  node.append(...inside.map(part => part instanceof Node ? part : document.createTextNode(part == null ? '' : visible(String(part)))));
  return node;
}

async function call(path, body) {
  const headers = { authorization: 'Bearer ' + (sessionStorage.getItem('token') || '') };
  const options = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(path, options);
  const json = await response.json();
  if (!response.ok) throw new Error(json.error || response.statusText);
  return json;
}

const when = ms => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
const brief = action => {
  const text = action.command || action.url || action.statement || action.source || action.text || action.element || '';
  const all = action.tool ? action.tool + ' ' + JSON.stringify(action.arguments) : text;
  return all.length > 160 ? all.slice(0, 160) + '… [' + (all.length - 160) + ' more]' : all;
};
const word = decision => el('span', { class: decision }, decision);

function table(heads, rows, name) {
  const head = el('thead', {}, el('tr', {}, ...heads.map(h => el('th', { scope: 'col' }, h))));
  return el('table', { 'aria-label': name }, head, el('tbody', {}, ...rows.map(cells =>
    el('tr', {}, ...cells.map(cell => el('td', {}, cell))))));
}

function show(...nodes) { main.replaceChildren(...nodes); }

async function decisions() {
  const found = await call('/v1/decisions?limit=100');
  show(el('h2', {}, 'Decisions'), found.length ? table(['When (UTC)', 'Decision', 'Action', 'Why', ''], found.map(d => [
    when(d.at_ms), word(d.verdict.decision), el('code', {}, brief(d.action)), d.verdict.reason,
    el('button', { type: 'button', on: () => go('decision', d.verdict.id), 'aria-label': 'Explain ' + d.verdict.id }, 'Explain'),
  ]), 'Decisions') : 'Nothing was decided yet.');
}

async function decision(id) {
  const d = await call('/v1/decisions/' + encodeURIComponent(id));
  const v = d.verdict;
  const rows = pairs => el('dl', {}, ...pairs.flatMap(([k, value]) => [el('dt', {}, k), el('dd', {}, value)]));
  const memory = v.memory ? el('button', { type: 'button', on: () => go('entry', v.memory.entry) }, v.memory.entry) : 'nothing was recalled';
  show(
    el('div', { class: 'row' }, el('button', { type: 'button', on: () => go('decisions') }, 'Back'), el('h2', {}, 'Decision ', v.id)),
    rows([['Decision', word(v.decision)], ['Why', v.reason], ['Instead', v.advice || '-'], ['Rests on', v.basis], ['When (UTC)', when(d.at_ms)],
      ['Agent', d.agent], ['For', d.identity.name], ['Request', d.request || 'not known'], ['Memory', memory],
      ['Cost', v.cost.wall_us + ' µs, ' + v.cost.model_calls + ' model calls']]),
    el('h2', {}, 'Effects'), table(['Does', 'To'], v.effects.map(e => [e.verb, el('code', {}, e.target)]), 'Effects'),
    v.effects_left_out ? el('p', {}, 'and ' + v.effects_left_out + ' more') : '',
    el('h2', {}, 'Action'), el('pre', {}, JSON.stringify(d.action, null, 2)),
    el('h2', {}, 'Checks'), table(['Check', 'Outcome', 'Answered by', 'Why', 'Evidence'], v.findings.map(f => [
      f.check.category + ': ' + f.check.name, f.outcome, f.by, f.reason,
      el('div', {}, ...(f.evidence || []).map(e => el('p', {}, e.about + ': ', el('q', {}, e.says)))),
    ]), 'Checks'),
    el('h2', {}, 'What do you think of it?'),
    el('div', { class: 'row' }, ...['approve', 'reject', 'incident', 'false-positive'].map(says =>
      el('button', { type: 'button', on: () => act(() => call('/v1/feedback', { verdict: v.id, says }), 'Noted: ' + says) }, says))),
  );
}

async function approvals() {
  const found = await call('/v1/approvals');
  count(found.length);
  const answer = (id, says) => act(async () => { await call('/v1/approvals/' + encodeURIComponent(id), { says }); await approvals(); }, says + ': ' + id);
  const question = w => el('section', { class: 'question', 'aria-label': 'Question ' + w.id },
    el('p', {}, when(w.asked_ms) + ' UTC, ' + w.agent + ' for ' + w.identity + ': ' + w.reason),
    el('h3', {}, 'What it would do'), el('ul', {}, ...w.effects.map(effect => el('li', {}, el('code', {}, effect)))),
    el('h3', {}, w.cut ? 'The action, cut: it cannot be approved' : 'The whole action'), el('pre', {}, w.action),
    el('div', { class: 'row' },
      w.cut ? '' : el('button', { type: 'button', on: () => answer(w.id, 'approve'), 'aria-label': 'Approve ' + w.id }, 'Approve once'),
      el('button', { type: 'button', on: () => answer(w.id, 'reject'), 'aria-label': 'Reject ' + w.id }, 'Reject')));
  show(el('h2', {}, 'Approvals'), ...(found.length ? found.map(question) : ['Nothing waits for an answer.']));
}

function count(n) {
  const badge = document.getElementById('waiting');
  badge.hidden = !n;
  badge.textContent = n;
}

async function memory(words) {
  const found = await call('/v1/memory?limit=200&words=' + encodeURIComponent(words || ''));
  const input = el('input', { id: 'words', value: words || '', 'aria-label': 'Words' });
  show(el('h2', {}, 'Memory'),
    el('div', { class: 'row' }, input, el('button', { type: 'button', on: () => go('memory', input.value) }, 'Search')),
    found.length ? table(['Kind of action', 'Status', 'Version', 'Checks', ''], found.map(e => [
      e.key.natural, e.status, e.version, e.checks.map(c => c.name).join(', '),
      el('button', { type: 'button', on: () => go('entry', e.id), 'aria-label': 'Open ' + e.id }, 'Open'),
    ]), 'Entries') : 'The memory has no such entry.');
}

async function entry(id) {
  const path = '/v1/memory/' + encodeURIComponent(id);
  const [e, history] = await Promise.all([call(path), call(path + '/history')]);
  const back = version => act(async () => { await call(path + '/rollback', { version }); await entry(id); }, 'Rolled back to version ' + version);
  const changes = el('pre', { hidden: '' });
  const differ = async version => {
    changes.textContent = JSON.stringify(await call(path + '/diff?from=' + version + '&to=' + e.version), null, 2);
    changes.hidden = false;
  };
  const versions = [...new Set(history.map(h => h.version).filter(v => v && v < e.version))];
  show(
    el('div', { class: 'row' }, el('button', { type: 'button', on: () => go('memory') }, 'Back'), el('h2', {}, e.key.natural)),
    el('dl', {}, ...[['Status', e.status], ['Version', e.version], ['Command', e.key.command]].flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])),
    el('h2', {}, 'Checks'), table(['Check', 'What it means', 'Support', 'Conflict'], e.checks.map(c => [c.name, c.definition, c.support, c.conflict]), 'Checks'),
    el('h2', {}, 'History'), table(['', 'Who', 'What', 'Version'], history.map(h => [h.seq, h.who, h.what, h.version || '']), 'History'),
    el('div', { class: 'row' }, ...versions.flatMap(v => [
      el('button', { type: 'button', on: () => act(() => differ(v), '') }, 'Compare with version ' + v),
      el('button', { type: 'button', on: () => back(v) }, 'Roll back to version ' + v)]),
    el('button', { type: 'button', on: () => act(async () => { await call(path + '/quarantine', {}); await entry(id); }, 'Quarantined') }, 'Quarantine')),
    changes);
}

async function rates() {
  const found = (await call('/v1/decisions?limit=500')).reverse();
  if (!found.length) return show(el('h2', {}, 'Rates'), 'Nothing was decided yet.');
  const wide = 800, high = 220, window = Math.max(5, Math.ceil(found.length / 10));
  const name = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(name, 'svg');
  svg.setAttribute('viewBox', '0 0 ' + wide + ' ' + high);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', 'Share of decisions over time');
  const lines = ['allow', 'ask', 'deny'].map(decision => [decision, d => d.verdict.decision === decision]);
  // the learning curve: the share of actions that memory recognises
  lines.push(['recalled', d => d.verdict.memory || d.verdict.basis === 'memory']);
  for (const [kind, test] of lines) {
    const points = found.map((_, at) => {
      const near = found.slice(Math.max(0, at - window + 1), at + 1);
      const share = near.filter(test).length / near.length;
      return (10 + at * (wide - 20) / Math.max(1, found.length - 1)).toFixed(1) + ',' + (high - 10 - share * (high - 20)).toFixed(1);
    });
    const line = document.createElementNS(name, 'polyline');
    line.setAttribute('points', points.join(' '));
    line.setAttribute('class', kind);
    line.setAttribute('fill', 'none');
    line.setAttribute('stroke', 'currentColor');
    line.setAttribute('stroke-width', '2');
    svg.append(line);
  }
  const share = (what, test) => [what, found.filter(test).length + ' of ' + found.length];
  show(el('h2', {}, 'Rates'), svg,
    el('p', {}, 'Share among the last ' + window + ' decisions, oldest to newest: ', word('allow'), ' ', word('ask'), ' ', word('deny'),
      '; known from memory (learning curve): ', word('recalled')),
    table(['', 'Decisions'], [share('allowed', d => d.verdict.decision === 'allow'), share('asked', d => d.verdict.decision === 'ask'),
      share('denied', d => d.verdict.decision === 'deny'), share('with something recalled from memory', d => d.verdict.memory),
      share('decided by memory', d => d.verdict.basis === 'memory'), share('with a model', d => d.verdict.cost.model_calls > 0)], 'Rates'));
}

async function audit() {
  const log = await call('/v1/audit?limit=100');
  show(el('h2', {}, 'Audit log'),
    el('p', {}, log.whole ? log.entries + ' entries, unchanged; head ' + log.head : el('span', { class: 'deny' }, 'CHANGED: ' + log.why)),
    table(['', 'When (UTC)', 'Decision', 'Action', 'Why'], log.newest.reverse().map(e => [
      e.seq, when(e.at_ms), e.verdict ? word(e.verdict.decision) : '', el('code', {}, e.event || brief(e.action || {})),
      (e.verdict ? e.verdict.reason : '') + (e.shadow ? ' (shadow)' : '')]), 'Audit log'));
}

const views = { decisions, decision, approvals, memory, entry, rates, audit };

async function act(what, said) {
  try {
    await what();
    status.textContent = said;
  } catch (problem) {
    status.textContent = problem.message;
  }
}

async function go(name, argument) {
  view = name;
  const turn = ++shown;
  for (const button of document.querySelectorAll('nav button')) {
    if (button.dataset.view === name) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  }
  await act(() => views[name](argument), '');
  if (turn === shown) main.focus({ preventScroll: true });
}

for (const button of document.querySelectorAll('nav button')) button.addEventListener('click', () => go(button.dataset.view));
document.getElementById('who').addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem('token', document.getElementById('token').value);
  document.getElementById('token').value = '';
  go(view);
});
// a link from the terminal may bring the token; it never reaches the server's log
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  sessionStorage.setItem('token', given);
  history.replaceState(null, '', '/');
}
setInterval(() => {
  if (document.hidden || !sessionStorage.getItem('token')) return;
  if (view === 'decisions') decisions().catch(() => {});
  call('/v1/approvals').then(found => count(found.length)).catch(() => {});
}, 3000);
go('decisions');
