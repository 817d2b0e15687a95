// The page in a real Chromium, on the real server: what a user does, and what they see.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { TestServer, WORKSHOP, runCommand } from './server.mjs';
import { consoleErrors, startStack } from './stack.mjs';
import { startStories } from './stories.mjs';
import { KEYS } from './webdriver.mjs';

let stack;
let stories;
let browser;
/** Messages of the console that a test provokes. */
let expected = [];

before(async () => {
  stories = await startStories();
  stack = await startStack([...WORKSHOP, stories.url, '--read-only', 'tell_story']);
  browser = await stack.open();
});

afterEach(async () => {
  const errors = await consoleErrors(browser, expected);
  expected = [];
  assert.deepEqual(errors, [], 'errors in the console');
});

after(async () => {
  await browser?.close();
  await stack?.stop();
  stories?.stop();
});

/** Shows a view as a fresh visitor of it: the page is loaded again. */
async function visit(fragment) {
  await browser.go('about:blank');
  await browser.go(`${stack.server.page}#${fragment}`);
  await browser.until('the view', () => browser.run(() => document.querySelector('.search-button') !== null));
}

const field = (pointer) => `[id="arg${pointer}"]`;
const REFUSED = /status of 40[13]/;

/** Runs what the form has, and confirms where the page asks. */
async function runTool() {
  await browser.click('.run');
  await browser.until('a question or a result', () => browser.run(() => document.querySelector('dialog[open], .result:not(.empty)') !== null));
  if (await browser.run(() => document.querySelector('dialog[open]') !== null)) await browser.click('dialog .row.end button:last-child');
  await browser.until('the end of the call', () => browser.run(() => document.querySelector('.result[aria-busy="false"] .status') !== null));
}

test('a browser without the token is refused', async () => {
  expected = [REFUSED];
  await browser.go(stack.server.page);
  await browser.sees('main', 'Open the link of the terminal');
  assert.equal(await browser.title(), 'Sign in · opentool');
  assert.equal(await browser.run(() => document.body.innerText.includes('convert_unit')), false);
  const status = await browser.runAsync(async () => (await fetch('api/tools')).status);
  assert.equal(status, 401);
  await browser.go('about:blank');
  await browser.go(`${stack.server.page}#token=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`);
  await browser.sees('main .notice', 'this address was used already');
  assert.equal((await browser.url()).includes('token'), false);
});

test('the link of the terminal signs in once, and leaves no token in the address', async () => {
  expected = [REFUSED];
  const link = await stack.server.link('/tools/add');
  await browser.go('about:blank');
  await browser.go(link);
  await browser.sees('h1', 'add');
  assert.equal(await browser.url(), `${stack.server.page}#/tools/add`);
  const other = await stack.open();
  try {
    await other.go(link);
    await other.sees('main .notice', 'this address was used already');
    await other.sees('h1', 'Sign in');
  } finally {
    await other.close();
  }
});

test('the policy of the page refuses what others would put into it', async () => {
  expected = [/Content Security Policy/, /CSP violation "(script-src|style-src|img-src|connect-src)/];
  await visit('/tools');
  const done = await browser.runAsync(async () => {
    const script = document.createElement('script');
    script.textContent = 'window.intruded = true';
    const style = document.createElement('style');
    style.textContent = 'body { outline: 9px solid red }';
    const image = new Image();
    image.src = 'https://evil.example/x.png';
    document.head.append(script, style);
    const sent = await fetch('https://evil.example/').then(() => true, () => false);
    return { intruded: window.intruded === true, outline: getComputedStyle(document.body).outlineWidth, sent };
  });
  assert.deepEqual(done, { intruded: false, outline: done.outline, sent: false });
  assert.notEqual(done.outline, '9px');
  // The watch that makes every other test fail over a violation does see one.
  const seen = (await browser.log()).map((entry) => entry.message).filter((message) => message.includes('CSP violation'));
  for (const directive of ['script-src', 'style-src', 'img-src', 'connect-src']) assert.ok(seen.some((message) => message.includes(directive)), `${directive}: ${seen}`);
});

test('a tool is found by search and opened with the keyboard', async () => {
  await visit('/tools');
  await browser.sees('.tool-grid', 'convert_unit');
  await browser.press(KEYS.control, 'k');
  await browser.type('.palette input', 'cdt');
  await browser.sees('.palette [aria-selected="true"]', 'current_date_time');
  await browser.clear('.palette input');
  await browser.type('.palette input', 'unit');
  await browser.sees('.palette [aria-selected="true"]', 'convert_unit');
  await browser.press(KEYS.enter);
  await browser.sees('h1', 'convert_unit');
  await browser.gone('.palette');
  assert.equal(await browser.run(() => document.activeElement.tagName), 'H1');
  assert.equal(await browser.title(), 'convert_unit · opentool');
  await browser.type('.sidebar input', 'note');
  await browser.until('the filtered list', () => browser.run(() => [...document.querySelectorAll('.sidebar li')].every((item) => item.innerText.includes('note'))));
});

test('the form runs a tool, and result and raw messages are shown', async () => {
  await visit('/tools/add');
  await browser.sees('.tool-head .badges', 'read-only');
  await browser.sees('.arguments', 'The first number.');
  await browser.type(field('/a'), '9007199254740993');
  await browser.type(field('/b'), '2');
  await browser.press(KEYS.control, KEYS.enter);
  // Neither number is one that JavaScript could hold.
  await browser.sees('.result .tree', '9007199254740995');
  const status = await browser.text('.result .status');
  assert.match(status, /OK/);
  assert.match(status, /ms/);
  assert.match(status, /\d B/);
  await browser.clickText('Request', '[role="tab"]');
  await browser.sees('.result pre', '"a": 9007199254740993');
  await browser.sees('.result pre', '"method": "add"');
  await browser.clickText('Answer', '[role="tab"]');
  await browser.sees('.result pre', '"sum": 9007199254740995');
  assert.match(await browser.text('#live'), /^add ended after/);
});

test('the call is copied as curl, CLI, Rust and MCP', async () => {
  await browser.click('.snippets summary');
  await browser.sees('.snippets pre', `"method":"add","params":{"a":9007199254740993,"b":2}`);
  await browser.clickText('CLI', '[role="tab"]');
  await browser.sees('.snippets pre', `opentool call ${stack.server.origin} add a=9007199254740993 b=2`);
  await browser.clickText('Rust', '[role="tab"]');
  await browser.sees('.snippets pre', `host.call(r"add", r#"{"a":9007199254740993,"b":2}"#)`);
  await browser.clickText('MCP', '[role="tab"]');
  await browser.sees('.snippets pre', '"tools/call"');
  await browser.click('.snippets .code-block button');
  await browser.sees('.toast', 'Copied');
});

test('a mistake is read at its field, and the summary leads there', async () => {
  await visit('/tools/add');
  await browser.type(field('/a'), 'one');
  await browser.click('.run');
  await browser.sees('.result .problem-summary', 'expected integer, got string "one"');
  const problem = await browser.run(() => {
    const input = document.getElementById('arg/a');
    const words = input.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).innerText);
    return { invalid: input.getAttribute('aria-invalid'), words };
  });
  assert.equal(problem.invalid, 'true');
  assert.ok(problem.words.some((words) => words.includes('expected integer, got string "one"')), JSON.stringify(problem));
  await browser.click('.problem-summary li:last-child button');
  assert.match(await browser.run(() => document.activeElement.id), /^arg\/[ab]$/);
  await browser.clear(field('/a'));
  await browser.type(field('/a'), '1');
  await browser.until('the mark to go', () => browser.run(() => document.getElementById('arg/a').getAttribute('aria-invalid') === null));
  await browser.clear(field('/b')).catch(() => {});
  await browser.type(field('/b'), '2');
  await browser.click('.run');
  await browser.sees('.result .tree', '"sum": 3');
});

const focusedId = () => browser.run(() => document.activeElement.id);

test('what is missing is read at its field, and the summary leads there', async () => {
  await visit(`/tools/fill_in?args=${encodeURIComponent('{"inner":{}}')}`);
  await browser.until('the inner field', () => browser.run(() => document.getElementById('arg/inner/x') !== null));
  await browser.click('.run');
  await browser.sees('.result .problem-summary', 'two words');
  // The id of a field has no space, so that a list of ids can name its words.
  const described = (id) =>
    browser.run((name) => (document.getElementById(name).getAttribute('aria-describedby') ?? '').split(' ').map((each) => document.getElementById(each)?.innerText).join(' | '), id);
  assert.match(await described('arg/two%20words'), /missing required argument.*A name with a space\./s);
  assert.match(await described('arg/inner/x'), /missing required .* "x"/);
  await browser.sees('.fields .of-all', 'at least 2');
  await browser.clickText('/inner/x', '.problem-summary button');
  assert.equal(await focusedId(), 'arg/inner/x');
  await browser.clickText('arguments', '.problem-summary button');
  assert.equal(await focusedId(), 'arg');
});

test('problems that the server does not list are counted', async () => {
  const many = Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`x${index}`, index]));
  await visit(`/tools/fill_in?args=${encodeURIComponent(JSON.stringify(many))}`);
  await browser.until('the fields', () => browser.run(() => document.getElementById('arg/x0') !== null));
  await browser.click('.run');
  await browser.sees('.problem-summary li:last-child', 'and 4 more');
});

test('a new number in a list is empty until it is typed', async () => {
  await visit('/tools/fill_in');
  await browser.clickText('Add to numbers');
  assert.equal(await browser.value(field('/numbers/0')), '');
  await browser.type(field('/numbers/0'), '42');
  for (let presses = 0; presses < 2; presses += 1) await browser.type(field('/numbers/0'), KEYS.backspace);
  assert.equal(await browser.value(field('/numbers/0')), '');
  assert.equal(await focusedId(), 'arg/numbers/0');
  await browser.type(field('/numbers/0'), '7');
  await browser.type(field('/two%20words'), '1');
  await browser.click('.run');
  await browser.sees('.result .part', '"numbers":[7]');
  // An item that was null is an empty number again.
  await browser.click('.item .null-toggle input');
  await browser.sees('.item', 'null');
  await browser.gone(`input${field('/numbers/0')}`);
  await browser.click('.item .null-toggle input');
  await browser.until('the field', async () => (await browser.value(`input${field('/numbers/0')}`)) === '');
});

test('a property that was added stays while its text is cleared', async () => {
  await visit('/tools/fill_in');
  await browser.type('.add-property input', 'extra');
  await browser.press(KEYS.enter);
  await browser.type(field('/extra'), 'a');
  await browser.type(field('/extra'), KEYS.backspace);
  assert.equal(await focusedId(), 'arg/extra');
  await browser.type(field('/extra'), 'b');
  assert.equal(await browser.value(field('/extra')), 'b');
  await browser.clickText('Rename');
  await browser.until('the field for the name', () => browser.run(() => document.activeElement.classList.contains('rename')));
  await browser.press(KEYS.enter);
  await browser.click('[aria-label="Remove extra"]');
  await browser.gone(field('/extra'));
  assert.notEqual(await browser.run(() => document.activeElement.tagName), 'BODY');
});

test('line breaks and impossible days are shown as they are', async () => {
  const given = '{"two words":1,"code":"a\\nb","day":"2026-02-30"}';
  await visit(`/tools/fill_in?args=${encodeURIComponent(given)}`);
  await browser.until('the text', async () => (await browser.value(field('/code'))) === 'a\nb');
  assert.equal(await browser.value(field('/day')), '2026-02-30');
  await browser.type(field('/code'), 'c');
  await browser.clickText('JSON', '[role="tab"]');
  assert.deepEqual(JSON.parse(await browser.value('#arguments-json')), { 'two words': 1, code: 'a\nbc', day: '2026-02-30' });
  await visit(`/tools/fill_in?args=${encodeURIComponent('{"two words":1,"code":"a\\r\\nb","day":"2026-02-28"}')}`);
  await browser.until('the text as JSON', async () => (await browser.value(field('/code'))) === '"a\\r\\nb"');
  assert.equal(await browser.run(() => document.getElementById('arg/day').type), 'date');
});

test('form and JSON show the same, both ways, without loss', async () => {
  await visit('/tools/book_room');
  await browser.sees('h1', 'Book a room');
  await browser.type(field('/guest/name'), 'Ann');
  await browser.type(field('/nights'), '2');
  await browser.click('[aria-label="pets: true"]');
  await browser.clickText('Add to wishes');
  await browser.type(field('/wishes/0'), 'quiet');
  await browser.clickText('JSON', '[role="tab"]');
  const written = await browser.value('#arguments-json');
  assert.deepEqual(JSON.parse(written), { guest: { name: 'Ann' }, nights: 2, pets: true, wishes: ['quiet'] });
  const next = '{"nights":3.0,"guest":{"name":"Bob","age":12345678901234567890,"extra":[1]},"pets":false,"payment":{"kind":"card","number":"4"},"note":null,"10":1,"9":2}';
  await browser.clear('#arguments-json');
  await browser.type('#arguments-json', next);
  await browser.clickText('Form', '[role="tab"]');
  await browser.until('the number', async () => (await browser.value(field('/guest/age'))) === '12345678901234567890');
  assert.equal(await browser.value(field('/payment/number')), '4');
  await browser.type(field('/guest/name'), 'by');
  await browser.clickText('JSON', '[role="tab"]');
  const back = await browser.value('#arguments-json');
  assert.equal(back.replace(/\s/g, ''), next.replace('"Bob"', '"Bobby"'));
});

test('JSON that is not valid says where, and is not sent', async () => {
  await browser.clear('#arguments-json');
  await browser.type('#arguments-json', '{"nights": 1,\n"nights": 2}');
  await browser.sees('#arguments-json-state', 'line 2, column 1: the name `nights` stands here twice');
  await browser.clickText('Form', '[role="tab"]');
  await browser.sees('.arguments [role="alert"]', 'line 2, column 1');
  await browser.click('.run');
  assert.equal(await browser.run(() => document.querySelector('.result.empty') !== null), true);
});

test('a long call shows its progress and can be cancelled', async () => {
  await visit('/tools/count_slowly');
  await browser.type(field('/to'), '200');
  await browser.click('.run');
  await browser.until('progress', async () => /counted to \d/.test((await browser.text('.result')) ?? ''));
  const share = await browser.run(() => document.querySelector('.result progress').position);
  assert.ok(share > 0 && share < 1, `progress ${share}`);
  await browser.click('.cancel');
  await browser.sees('.result .status', 'Cancelled');
  // The tool itself was stopped, and not only the page's waiting.
  await visit('/tools/count_cancelled');
  await browser.click('.run');
  await browser.sees('.result .part', '1');
});

test('the focus stays near what was removed or disabled', async () => {
  const hasFocus = (selector) => browser.until(`the focus at ${selector}`, () => browser.run((all) => document.activeElement.matches(all), selector));
  await visit(`/tools/fill_in?args=${encodeURIComponent('{"two words":1,"numbers":[1,2]}')}`);
  await browser.until('the items', () => browser.run(() => document.querySelectorAll('.item').length === 2));
  await browser.run(() => document.querySelector('[aria-label="Remove item 2"]').focus());
  await browser.press(KEYS.enter);
  await hasFocus('.items');
  await browser.type(field('/code'), 'a');
  await browser.run(() => document.querySelector('[aria-label="Unset code"]').focus());
  await browser.press(KEYS.enter);
  await hasFocus(field('/code'));
  await browser.run(() => document.querySelector('.run').focus());
  await browser.press(KEYS.enter);
  await browser.sees('.result .status', 'OK');
  await hasFocus('.run');

  await visit(`/tools/count_slowly?args=${encodeURIComponent('{"to":200}')}`);
  await browser.until('the number', async () => (await browser.value(field('/to'))) === '200');
  await browser.click('.run');
  await browser.sees('.result', 'counted to');
  await browser.run(() => document.querySelector('.cancel').focus());
  await browser.press(KEYS.enter);
  await browser.sees('.result .status', 'Cancelled');
  await hasFocus('.result');

  await visit(`/tools/delete_note?args=${encodeURIComponent('{"id":99}')}`);
  await browser.until('the id', async () => (await browser.value(field('/id'))) === '99');
  await browser.run(() => document.querySelector('.run').focus());
  await browser.press(KEYS.enter);
  await browser.sees('dialog pre', '99');
  await hasFocus('dialog [data-focus]');
  await browser.run(() => document.querySelector('dialog .danger').focus());
  await browser.press(KEYS.enter);
  await browser.sees('.result', 'there is no note 99');
  await hasFocus('.run');
});

test('a call is replayed from the history, also after a reload, and secrets are not kept', async () => {
  await visit('/tools/log_in');
  await browser.type(field('/user'), 'ann');
  await browser.type(field('/password'), 'hunter22');
  assert.equal(await browser.run(() => document.getElementById('arg/password').type), 'password');
  await runTool();
  await browser.sees('.result .part', 'logged in with 8 characters');
  await visit('/history');
  await browser.sees('.history li:first-child', 'Not kept: /password');
  assert.equal(await browser.run(() => JSON.stringify({ ...localStorage, ...sessionStorage }).includes('hunter22')), false);
  await browser.click('.history li:first-child [aria-label="Replay log_in"]');
  await browser.until('the user', async () => (await browser.value(field('/user'))) === 'ann');
  assert.equal(await browser.value(field('/password')), '');

  await visit('/tools/add?args=%7B%22a%22%3A20%2C%22b%22%3A22%7D');
  await runTool();
  await browser.sees('.result .tree', '"sum": 42');
  await browser.click('.views a[href="#/history"]');
  await browser.sees('.history li:first-child', '{"a":20,"b":22}');
  await browser.reload();
  await browser.sees('.history li:first-child', '{"sum":42}');
  await browser.click('.history li:first-child [aria-label="Replay add"]');
  await browser.sees('h1', 'add');
  await browser.sees('.result .tree', '"sum": 42');
});

test('a destructive call is confirmed first, with its name and arguments', async () => {
  await visit(`/tools/add_note?args=${encodeURIComponent('{"title":"Milk","text":"Two bottles"}')}`);
  await runTool();
  await browser.sees('.result .tree', '"id": 1');
  await visit('/tools/delete_note');
  await browser.sees('.tool-head .badges', 'destructive');
  await browser.type(field('/id'), '1');
  await browser.click('.run');
  await browser.sees('dialog', 'Run delete_note?');
  await browser.sees('dialog pre', '"id": 1');
  // The harmless answer has the focus, and Escape gives it too.
  assert.equal(await browser.run(() => document.activeElement.innerText), 'Do not run it');
  await browser.press(KEYS.escape);
  await browser.gone('dialog');
  assert.equal(await browser.run(() => document.querySelector('.result.empty') !== null), true);
  await browser.click('.run');
  await browser.clickText('Run delete_note', 'dialog button');
  await browser.sees('.result', 'The tool gave no value.');
  await browser.click('.run');
  await browser.clickText('Run delete_note', 'dialog button');
  await browser.sees('.result', 'there is no note 1: `list_notes` lists them');
});

test('what a dialog shows is what runs, and going back closes it', async () => {
  await visit(`/tools/delete_note?args=${encodeURIComponent('{"id":71}')}`);
  await browser.until('the id', async () => (await browser.value(field('/id'))) === '71');
  await browser.run((fragment) => (location.hash = fragment), `#/tools/delete_note?args=${encodeURIComponent('{"id":72}')}`);
  await browser.until('the other id', async () => (await browser.value(field('/id'))) === '72');
  await browser.click('.run');
  await browser.sees('dialog pre', '"id": 72');
  await browser.run(() => history.back());
  await browser.gone('dialog');
  await browser.until('the first id', async () => (await browser.value(field('/id'))) === '71');
  await browser.click('.run');
  await browser.sees('dialog pre', '"id": 71');
  // The form changes under the open dialog, as through a link of another program.
  await browser.run(() => {
    const input = document.getElementById('arg/id');
    input.value = '73';
    input.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await browser.sees('dialog pre', '"id": 71');
  await browser.clickText('Run delete_note', 'dialog button');
  await browser.sees('.result', 'there is no note 71');
});

test('a call that runs is neither started twice nor dropped', async () => {
  await visit(`/tools/count_slowly?args=${encodeURIComponent('{"to":150}')}`);
  await browser.until('the number', async () => (await browser.value(field('/to'))) === '150');
  await browser.run(() => {
    window.sent = 0;
    const { fetch } = window;
    window.fetch = (address, ...rest) => {
      if (String(address).endsWith('api/calls')) window.sent += 1;
      return fetch(address, ...rest);
    };
  });
  await browser.clickText('JSON', '[role="tab"]');
  await browser.click('#arguments-json');
  await browser.press(KEYS.control, KEYS.enter);
  await browser.press(KEYS.control, KEYS.enter);
  await browser.sees('.result[aria-busy="true"]', 'counted to');
  await browser.press(KEYS.control, KEYS.enter);
  await browser.clickText('Clear', '.actions button');
  await browser.sees('.result[aria-busy="true"]', 'counted to');
  await browser.click('.cancel');
  await browser.sees('.result .status', 'Cancelled');
  assert.equal(await browser.run(() => window.sent), 1);
});

test('without a confirmation the server does not run a destructive tool', async () => {
  expected = [/status of 409/];
  const refused = await browser.runAsync(async () => {
    const body = JSON.stringify({ id: 'test-1', tool: 'delete_note', arguments: { id: 5 } });
    const response = await fetch('api/calls', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    return { status: response.status, kind: (await response.json()).error.kind };
  });
  assert.deepEqual(refused, { status: 409, kind: 'confirmation-required' });
});

test('an image of a result is shown', async () => {
  await visit(`/tools/draw_square?args=${encodeURIComponent('{"colour":"#0b6e69"}')}`);
  await runTool();
  await browser.sees('.result', 'A square in #0b6e69.');
  await browser.until('the image', () => browser.run(() => document.querySelector('.result img')?.naturalWidth === 120));
  assert.match(await browser.run(() => document.querySelector('.result img').src), /^blob:/);
});

test('a sound of a result can be played', async () => {
  await visit(`/tools/play_tone?args=${encodeURIComponent('{"hertz":440}')}`);
  await runTool();
  await browser.until('the sound', () => browser.run(() => document.querySelector('.result audio[controls]')?.duration === 0.5));
  assert.match(await browser.run(() => document.querySelector('.result audio').src), /^blob:/);
  const played = await browser.runAsync(async () => {
    const audio = document.querySelector('.result audio');
    audio.muted = true;
    await audio.play();
    audio.pause();
    return audio.error === null;
  });
  assert.equal(played, true);
  await browser.sees('.result figcaption', 'result.wav');
  await browser.sees('.result figcaption', 'audio/wav');
});

test('the pieces of a result are shown as they come', async () => {
  await visit('/tools/tell_story');
  await browser.click('.run');
  await browser.sees('.result[aria-busy="true"] .pieces', 'He had a daughter.');
  const pieces = () => browser.run(() => [...document.querySelectorAll('.result .pieces pre')].map((piece) => piece.innerText));
  assert.deepEqual(await pieces(), ['There was a king.', 'He had a daughter.']);
  assert.equal(await browser.run(() => document.querySelector('.result .pieces').getAttribute('role')), 'log');
  stories.finish();
  await browser.sees('.result[aria-busy="false"] .parts', 'There was a king. He had a daughter.');
  await browser.sees('.result details summary', '2 streamed pieces');
  await browser.click('.result details summary');
  assert.deepEqual(await pieces(), ['There was a king.', 'He had a daughter.']);
});

test('a question of a tool is answered in the page', async () => {
  await visit(`/tools/ask_user?args=${encodeURIComponent('{"question":"Tea or coffee?","choices":["tea","coffee"]}')}`);
  await browser.click('.run');
  await browser.sees('.ask h2', 'Tea or coffee?');
  const option = await browser.run(() => [...document.querySelectorAll('.ask select option')].findIndex((each) => each.textContent === 'coffee'));
  await browser.click(`.ask select option:nth-child(${option + 1})`);
  await browser.clickText('Answer', '.ask button');
  await browser.sees('.result .parts', 'coffee');
});

test('an empty answer is refused at its field, and the question stays', async () => {
  await visit(`/tools/ask_user?args=${encodeURIComponent('{"question":"What is your name?"}')}`);
  await browser.click('.run');
  await browser.sees('.ask h2', 'What is your name?');
  await browser.clickText('Answer', '.ask button');
  await browser.sees('.ask .problems', 'this is required');
  assert.equal(await browser.run(() => document.activeElement.getAttribute('aria-invalid')), 'true');
  await browser.type('.ask textarea, .ask input', 'Ann');
  await browser.gone('.ask .problems');
  await browser.clickText('Answer', '.ask button');
  await browser.sees('.result .parts', 'Ann');
});

test('a deep link opens a tool with its arguments and does not run it', async () => {
  await visit(`/tools/convert_unit?args=${encodeURIComponent('{"value":1,"from":"mile","to":"kilometre"}')}`);
  await browser.until('the value', async () => (await browser.value(field('/value'))) === '1');
  assert.equal(await browser.run(() => document.getElementById('arg/from').selectedOptions[0].textContent), 'mile');
  assert.equal(await browser.run(() => document.querySelector('.result.empty') !== null), true);
  await browser.click('.run');
  await browser.sees('.result .tree', '1.609344');
  await visit('/tools/no_such_tool');
  await browser.sees('h1', 'No tool named no_such_tool');
});

async function sayInChat(words) {
  await browser.type('.composer textarea', words);
  await browser.click('[aria-label="Send"]');
}

test('the model streams, calls tools and asks before it deletes', async () => {
  await visit(`/tools/add_note?args=${encodeURIComponent('{"title":"Bread","text":"Rye"}')}`);
  await runTool();
  await browser.sees('.result .tree', '"id": 2');
  await visit('/chat');
  await browser.sees('main .lead', 'scripted');
  await sayInChat('Show me my notes');
  await browser.sees('.call-card', 'list_notes');
  await browser.sees('.message.assistant', 'You have 1 in your notes: Bread.');
  await sayInChat('Please delete note 2');
  await browser.sees('.call-card.waits', 'delete_note');
  await browser.sees('.call-card.waits pre', '"id": 2');
  await browser.clickText('Allow', '.approval button');
  await browser.sees('.messages', 'Both are there');
  await browser.gone('.call-card.waits');
  const cards = await browser.run(() => [...document.querySelectorAll('.call-card')].map((card) => card.innerText));
  assert.match(cards[cards.length - 1], /delete_note.*ms/s);
});

test('what a model writes is never HTML, and loads nothing', async () => {
  await browser.sees('.messages', 'and a page.');
  const shown = await browser.run(() => ({
    images: document.querySelectorAll('.messages img').length,
    scripts: document.querySelectorAll('.messages a[href^="javascript"]').length,
    list: document.querySelectorAll('.messages .markdown ol li').length,
    link: document.querySelector('.messages a[href="https://example.org/"]')?.rel,
    elsewhere: performance.getEntriesByType('resource').map((entry) => entry.name).filter((name) => !name.startsWith(location.origin)),
  }));
  assert.deepEqual(shown, { images: 0, scripts: 0, list: 2, link: 'noopener noreferrer nofollow', elsewhere: [] });
  await browser.sees('.messages', '<img src="https://evil.example/a.png"');
  assert.equal(await browser.title(), 'Chat · opentool');
});

test('a call of the model is denied with a reason, and the model reads it', async () => {
  await sayInChat('Now delete note 7');
  await browser.sees('.call-card.waits', 'delete_note');
  await browser.type('.approval input', 'not today');
  await browser.clickText('Deny', '.approval button');
  await browser.sees('.messages', 'Then I leave it.');
  const { messages } = stack.model.requests[stack.model.requests.length - 1];
  assert.match(messages[messages.length - 1].content, /not today/);
});

test('a tool that is always allowed is not asked about again', async () => {
  await sayInChat('Now delete note 8');
  await browser.clickText('Always allow delete_note', '.approval button');
  await browser.sees('.message:last-child', 'there is no note 8');
  await browser.until('the end', () => browser.run(() => document.querySelector('[aria-label="Send"]') !== null));
  await sayInChat('Now delete note 9');
  await browser.sees('.message:last-child', 'there is no note 9');
  assert.equal(await browser.run(() => document.querySelector('.approval') === null), true);
  await browser.until('the end', () => browser.run(() => document.querySelector('[aria-label="Send"]') !== null));
});

test('a tool that the model calls asks its question in the chat', async () => {
  await sayInChat('Ask me a question');
  await browser.sees('.ask h2', 'Which colour?');
  await browser.type('.ask textarea, .ask input', 'blue');
  await browser.clickText('Answer', '.ask button');
  await browser.sees('.message:last-child', 'You said blue.');
});

test('a file is attached, an answer is stopped, and a reload keeps the conversation', async () => {
  const file = join(stack.folder, 'list.txt');
  writeFileSync(file, 'milk, bread');
  await browser.run(() => document.querySelector('.composer input[type="file"]').classList.remove('visually-hidden'));
  await browser.type('.composer input[type="file"]', file);
  await browser.sees('.composer .attachments', 'list.txt');
  await sayInChat('Talk forever');
  await browser.sees('.messages', 'word3');
  await browser.click('[aria-label="Stop the answer"]');
  await browser.until('the end', () => browser.run(() => document.querySelector('[aria-label="Send"]') !== null));
  assert.equal(await browser.run(() => document.activeElement.tagName), 'TEXTAREA');
  const before = stack.model.requests[stack.model.requests.length - 1];
  assert.ok(JSON.stringify(before.messages).includes('list.txt') || JSON.stringify(before.messages).includes(Buffer.from('milk, bread').toString('base64')));
  await browser.reload();
  await browser.sees('.messages', 'Please delete note 2');
  await browser.sees('.messages', 'Both are there');
  await browser.clickText('New conversation');
  await browser.until('an empty conversation', () => browser.run(() => document.querySelector('.message') === null));
});

test('a question does not take the focus from someone who types', async () => {
  await visit('/chat');
  await sayInChat('Please delete note 31');
  await browser.type('.composer textarea', 'next');
  await browser.sees('.approval', 'delete_note');
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await browser.run(() => document.activeElement.tagName), 'TEXTAREA');
  await browser.run(() => [...document.querySelectorAll('.approval button')].find((button) => button.innerText === 'Deny').focus());
  await browser.press(KEYS.enter);
  await browser.gone('.approval');
  assert.equal(await browser.run(() => document.activeElement.classList.contains('call-card')), true);
  await browser.sees('.messages', 'Then I leave it.');
  await browser.until('the end', () => browser.run(() => document.querySelector('[aria-label="Send"]') !== null));
  // What was written is still there, after another view too.
  await browser.click('.views a[href="#/tools"]');
  await browser.sees('.tool-grid', 'add');
  await browser.click('.views a[href="#/chat"]');
  await browser.until('the draft', async () => (await browser.value('.composer textarea')) === 'next');
});

test('a message that is refused goes back to where it was written', async () => {
  expected = [/status of 413/];
  const file = join(stack.folder, 'large.bin');
  writeFileSync(file, Buffer.alloc(7_000_000));
  await visit('/chat');
  await browser.run(() => document.querySelector('.composer input[type="file"]').classList.remove('visually-hidden'));
  await browser.type('.composer input[type="file"]', file);
  await browser.sees('.composer .attachments', 'large.bin');
  await browser.type('.composer input[type="file"]', file);
  await browser.sees('.composer .notice', 'too large together');
  await browser.click('[aria-label="Remove large.bin"]');
  await browser.gone('.composer .attachments');
  await browser.type('.composer input[type="file"]', file);
  await browser.sees('.composer .attachments', 'large.bin');
  await browser.run(() => {
    const { fetch } = window;
    window.fetch = (address, ...rest) => (String(address).endsWith('api/chat') ? fetch('api/session', { method: 'POST', body: 'x'.repeat(20_000_000), headers: { 'Content-Type': 'application/json' } }) : fetch(address, ...rest));
  });
  await sayInChat('Read this');
  await browser.sees('.composer .notice', '');
  assert.equal(await browser.value('.composer textarea'), 'Read this');
  await browser.sees('.composer .attachments', 'large.bin');
  assert.equal((await browser.text('.messages')).includes('Read this'), false);
});

test('a message whose answer failed stays, also after a reload', async () => {
  await visit('/chat');
  await sayInChat('Please refuse this');
  await browser.sees('.message.assistant:last-child', 'not like this');
  await browser.click('.views a[href="#/tools"]');
  await browser.sees('.tool-grid', 'add');
  await browser.click('.views a[href="#/chat"]');
  await browser.sees('.message.user:nth-last-child(2)', 'Please refuse this');
  await browser.reload();
  await browser.sees('.message.user:nth-last-child(2)', 'Please refuse this');
  await browser.sees('.message.assistant:last-child', 'not like this');
});

test('a call that waits when the page is loaded again is found from the chat', async () => {
  // The server does not remember the conversation that is forgotten.
  expected = [/status of 404/];
  await visit('/chat');
  await browser.clickText('New conversation');
  await browser.gone('.message');
  await sayInChat('Please delete note 32');
  await browser.sees('.approval', 'delete_note');
  await browser.reload();
  await browser.sees('.message.user', 'Please delete note 32');
  await browser.sees('.message .notice', 'A call waits for your decision.');
  await browser.clickText('Look at it in Runs');
  await browser.sees('.timeline', 'I will delete it.');
  await browser.clickText('Deny');
  await browser.clickText('Decide: Deny');
  await browser.gone('.decision');
  await browser.sees('.tool-head .badge', 'decided');
  // The server was started with what a journal does not hold.
  await browser.sees('.resume', 'as it was given before: --mcp.');
  const words = (await browser.text('.resume code')).split(' ');
  await browser.emulate(360, 740);
  const width = () => browser.run(() => document.documentElement.scrollWidth);
  assert.equal(await width(), 360);
  await visit('/runs');
  await browser.sees('.run-list', 'goes on with a command');
  assert.equal(await width(), 360);
  await browser.emulate(1280, 900);
  await visit('/chat');
  await browser.sees('.message .notice', 'All calls are decided.');
  const resumed = await runCommand([...words.slice(1), ...WORKSHOP.slice(1, 3)], stack.model);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(resumed.stdout, /Then I leave it\./);
  await visit('/chat');
  await browser.sees('.message .notice', 'This was answered without the page.');
  await browser.clickText('New conversation');
  await browser.gone('.message');
});

test('a call that a crash interrupted is decided', async () => {
  await visit('/runs');
  await browser.sees('.run-list', '1 to decide');
  await browser.clickText('send_letter', '.run-row', { whole: false });
  await browser.sees('.timeline', 'send_letter');
  await browser.sees('.timeline', 'uncertain');
  await browser.sees('.timeline .tree', '"Ann"');
  await browser.clickText('It happened');
  await browser.clear('.decision textarea');
  await browser.type('.decision textarea', '{"letter": 1,}');
  await browser.sees('.decision', 'there is no member after this comma');
  await browser.clear('.decision textarea');
  await browser.type('.decision textarea', '{"letter": 1}');
  await browser.clickText('Decide: It happened');
  await browser.gone('.decision');
  assert.equal(await browser.run(() => document.activeElement.classList.contains('card')), true);
  await browser.until('the decided call', () => browser.run(() => document.querySelector('.timeline .badge.good') !== null));
  await visit('/runs');
  await browser.sees('.run-list', 'send_letter');
  assert.equal((await browser.text('.run-list')).includes('to decide'), false);
});

test('a chat that waits for approval is decided, and goes on by the command that is shown', async () => {
  const run = await stack.suspendedChat();
  await visit('/runs');
  await browser.sees('.run-list', '1 to decide');
  await browser.clickText('Please delete note 1.', '.run-row', { whole: false });
  await browser.sees('.timeline', 'The model is asked');
  const steps = await browser.run(() => [...document.querySelectorAll('.timeline-entry .row:first-child strong')].map((title) => title.innerText));
  assert.deepEqual(steps, ['The model is asked', 'The model makes 1 call', 'The run stops until it is decided', 'delete_note']);
  await browser.sees('.timeline', 'I will delete it.');
  await browser.sees('.step-calls', 'delete_note {"id":1}');
  assert.equal(await browser.run(() => document.querySelector('.resume') === null), true);
  await browser.clickText('Deny');
  await browser.type('.decision input', 'it is still needed');
  await browser.clickText('Decide: Deny');
  await browser.gone('.decision');
  await browser.sees('.timeline', 'Call 1.0 is denied');
  const command = await browser.until('the command', () => browser.run(() => document.querySelector('.resume code')?.innerText));
  const words = command.split(' ');
  assert.deepEqual([words[0], words[1], words.at(-1)], ['opentool', 'runs', run]);
  const resumed = await runCommand(words.slice(1), stack.model);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(resumed.stdout, /Then I leave it\./);
  assert.match(JSON.stringify(stack.model.requests.at(-1).messages), /did not approve the call: it is still needed/);
  // The page shows it.
  await browser.sees('.timeline', 'The end: answered');
  await browser.sees('.timeline', 'Then I leave it.');
  await browser.gone('.resume');
});

test('the theme is switched, and kept', async () => {
  await visit('/tools');
  const shown = () => browser.run(() => ({ theme: document.documentElement.dataset.theme, ground: getComputedStyle(document.documentElement).backgroundColor }));
  const grounds = new Set();
  for (const choice of ['light', 'dark', 'system']) {
    await browser.click('.top button[aria-label^="Theme"]');
    const { theme, ground } = await shown();
    if (choice !== 'system') assert.equal(theme, choice);
    if (choice !== 'system') grounds.add(ground);
  }
  assert.equal(grounds.size, 2);
  await browser.click('.top button[aria-label^="Theme"]');
  await browser.click('.top button[aria-label^="Theme"]');
  await browser.reload();
  await browser.sees('h1', '');
  assert.equal((await shown()).theme, 'dark');
});

test('the first key leads past the navigation', async () => {
  await visit('/history');
  await browser.press(KEYS.tab);
  assert.equal(await browser.run(() => document.activeElement.innerText), 'Skip to the content');
  await browser.press(KEYS.enter);
  assert.equal(await browser.run(() => document.activeElement.id), 'main');
  assert.match(await browser.url(), /#\/history$/);
});

test('a phone shows every view without scrolling sideways', async () => {
  await browser.emulate(360, 740);
  try {
    const wide = '{"guest":{"name":"Ann"},"nights":1,"pets":true,"wishes":["a","b"],"payment":{"kind":"card","number":"4"}}';
    for (const fragment of ['/tools', '/tools/add', `/tools/book_room?args=${encodeURIComponent(wide)}`, '/history', '/chat', '/runs']) {
      await visit(fragment);
      await browser.until('a heading', () => browser.run(() => document.querySelector('h1') !== null));
      const width = await browser.run(() => document.documentElement.scrollWidth);
      assert.equal(width, 360, fragment);
    }
    await visit('/tools/add?args=%7B%22a%22%3A1%2C%22b%22%3A2%7D');
    await runTool();
    await browser.sees('.result .tree', '"sum": 3');
    await browser.clickText('Answer', '[role="tab"]');
    assert.equal(await browser.run(() => document.documentElement.scrollWidth), 360);
    const hidden = await browser.run(() => getComputedStyle(document.querySelector('.sidebar')).display);
    assert.equal(hidden, 'none');
    await browser.click('.back');
    await browser.sees('.tool-grid', 'convert_unit');
  } finally {
    await browser.emulate(1280, 900);
  }
});

test('the list beside a tool shows that tool', async () => {
  await browser.emulate(1280, 420);
  try {
    await visit('/tools/fill_in');
    await browser.until('the tool in the list', () =>
      browser.run(() => {
        const [item, list] = ['.sidebar [aria-current]', '.sidebar-list'].map((all) => document.querySelector(all).getBoundingClientRect());
        return item.top >= list.top && item.bottom <= list.bottom;
      }),
    );
    assert.ok(await browser.run(() => document.querySelector('.sidebar-list').scrollTop > 0), 'the list is longer than its place');
    assert.equal(await browser.run(() => scrollY), 0);
  } finally {
    await browser.emulate(1280, 900);
  }
});

test('signing out ends the session', async () => {
  expected = [REFUSED];
  await visit('/tools');
  await browser.click('[aria-label="Sign out"]');
  await browser.sees('h1', 'Sign in');
  await browser.reload();
  await browser.sees('h1', 'Sign in');
});

test('where keys are set, a key signs in', async () => {
  expected = [REFUSED];
  const server = await TestServer.start({ terminal: false, args: ['demo'], env: { OPENTOOL_API_KEY: 'correct-horse' } });
  try {
    await browser.go(server.page);
    await browser.type('#api-key', 'wrong');
    await browser.clickText('Sign in', 'form button');
    await browser.sees('form .notice', 'this is no API key of this server');
    await browser.clear('#api-key');
    await browser.type('#api-key', 'correct-horse');
    await browser.clickText('Sign in', 'form button');
    await browser.sees('.tool-grid', 'convert_unit');
    await browser.click('a[href="#/tools/add"]');
    await browser.click('.snippets summary');
    await browser.sees('.snippets pre', 'Authorization: Bearer $OPENTOOL_API_KEY');
    assert.equal(await browser.run(() => document.documentElement.innerHTML.includes('correct-horse')), false);
  } finally {
    await server.stop();
  }
  // The page notices that its server is gone.
  expected.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
});
