// axe-core on the page: WCAG 2 A and AA in all views, light and dark, wide and narrow. The driver injects it, since the page's policy
// refuses scripts of others.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { consoleErrors, startStack } from './stack.mjs';
import { KEYS } from './webdriver.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** Rules that are no part of the guidelines, and by which people with a screen reader find their way. */
const ALSO = ['heading-order', 'landmark-unique'];
let stack;
let browser;

before(async () => {
  stack = await startStack();
  browser = await stack.open();
  await stack.signIn(browser);
});

afterEach(async () => assert.deepEqual(await consoleErrors(browser), [], 'errors in the console'));

after(async () => {
  await browser?.close();
  await stack?.stop();
});

async function visit(fragment) {
  await browser.go('about:blank');
  await browser.go(`${stack.server.page}#${fragment}`);
  await browser.until('the view', () => browser.run(() => document.querySelector('main h1') !== null));
}

const EVERYTHING = '{"guest":{"name":"Ann"},"nights":1,"pets":true,"wishes":["a","b"],"payment":{"kind":"card","number":"4"},"note":null,"other":1}';

const STATES = {
  'all tools': () => visit('/tools'),
  'the search': async () => {
    await visit('/tools');
    await browser.press(KEYS.control, 'k');
    await browser.type('.palette input', 'note');
    await browser.sees('.palette', 'add_note');
  },
  'a form with all kinds of fields': async () => {
    await visit(`/tools/book_room?args=${encodeURIComponent(EVERYTHING)}`);
    await browser.until('the fields', async () => (await browser.value('[id="arg/guest/name"]')) === 'Ann');
  },
  'a mistake at its field': async () => {
    await visit('/tools/add');
    await browser.type('[id="arg/a"]', 'one');
    await browser.click('.run');
    await browser.sees('.problem-summary', 'expected integer');
  },
  'a result and its raw answer': async () => {
    await visit('/tools/add?args=%7B%22a%22%3A1%2C%22b%22%3A2%7D');
    await browser.click('.run');
    await browser.sees('.result .tree', '"sum": 3');
    await browser.click('.snippets summary');
    await browser.clickText('Answer', '[role="tab"]');
    await browser.sees('.result pre', '"sum": 3');
  },
  'arguments as JSON': async () => {
    await visit(`/tools/book_room?args=${encodeURIComponent(EVERYTHING)}`);
    await browser.clickText('JSON', '[role="tab"]');
    await browser.type('#arguments-json', ',');
    await browser.sees('#arguments-json-state', 'line');
  },
  'the question before a destructive call': async () => {
    await visit('/tools/delete_note?args=%7B%22id%22%3A1%7D');
    await browser.click('.run');
    await browser.sees('dialog', 'Run delete_note?');
  },
  'a chat that waits for approval': async () => {
    await visit('/chat');
    await browser.type('.composer textarea', 'Please delete note 1');
    await browser.click('[aria-label="Send"]');
    await browser.sees('.approval', 'Always allow');
  },
  'a chat with an answer': async () => {
    await browser.clickText('Deny', '.approval button');
    await browser.sees('.messages', 'Then I leave it.');
    await browser.sees('.messages', 'tokens');
  },
  'the history': () => visit('/history'),
  'all runs': async () => {
    await visit('/runs');
    await browser.sees('.run-list', 'send_letter');
  },
  'a run to decide': async () => {
    await browser.clickText('send_letter', '.run-row', { whole: false });
    await browser.clickText('Give it up');
    await browser.sees('.decision', 'Reason');
  },
  'a chat to approve': async () => {
    await visit(`/runs/${await stack.suspendedChat()}`);
    await browser.clickText('Deny');
    await browser.sees('.decision', 'Reason');
  },
  'a chat that can go on': async () => {
    await browser.clickText('Decide: Deny');
    await browser.sees('.resume', 'opentool runs');
  },
};

for (const theme of ['light', 'dark']) {
  for (const [name, reach] of Object.entries(STATES)) {
    test(`${name}, ${theme}: no serious finding`, async () => {
      await browser.run((choice) => localStorage.setItem('opentool.theme', choice), theme);
      await reach();
      assert.equal(await browser.run(() => document.documentElement.dataset.theme), theme);
      for (const width of [1280, 360]) {
        await browser.emulate(width, 900);
        await browser.inject(axe);
        const found = await browser.runAsync(async (rules, also) => {
          const { violations, passes } = await axe.run(document, { runOnly: rules, rules: Object.fromEntries(also.map((id) => [id, { enabled: true }])) });
          return {
            checked: passes.length,
            serious: violations
              .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || also.includes(id))
              .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`).join('; ')}`),
          };
        }, RULES, ALSO);
        assert.deepEqual(found.serious, [], `at ${width} pixels`);
        assert.ok(found.checked > 10, `only ${found.checked} rules had something to check`);
      }
      await browser.emulate(1280, 900);
    });
  }
}

test('the sign-in, light and dark: no serious finding', async () => {
  const visitor = await stack.open();
  try {
    for (const theme of ['light', 'dark']) {
      await visitor.go(stack.server.page);
      await visitor.run((choice) => localStorage.setItem('opentool.theme', choice), theme);
      await visitor.reload();
      await visitor.sees('h1', 'Sign in');
      await visitor.inject(axe);
      const serious = await visitor.runAsync(async (rules) => (await axe.run(document, { runOnly: rules })).violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id), RULES);
      assert.deepEqual(serious, []);
    }
  } finally {
    await visitor.close();
  }
});
