// Writes the pictures of the page that the documentation shows: `scripts/browser --screenshots`.

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startStack } from './stack.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../../..');
const docs = join(root, 'docs');
const stack = await startStack(['demo', join(root, 'examples/libm.opendyn.json'), '--library', 'libm.so.6']);

async function picture(name, { theme, width = 1280, height = 800 }, steps) {
  const browser = await stack.open({ width, height, scale: 2 });
  try {
    await stack.signIn(browser);
    await browser.run((choice) => localStorage.setItem('opentool.theme', choice), theme);
    const visit = async (fragment) => {
      await browser.go('about:blank');
      await browser.go(`${stack.server.page}#${fragment}`);
      await browser.until('the view', () => browser.run(() => document.querySelector('main h1') !== null));
    };
    await steps(browser, visit);
    await browser.run(() => document.activeElement.blur());
    await browser.send('POST', '/actions', { actions: [{ type: 'pointer', id: 'mouse', actions: [{ type: 'pointerMove', x: 1, y: 1 }] }] });
    // The last frame of what moves.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const png = await browser.screenshot();
    writeFileSync(join(docs, name), png);
    console.log(`${name}: ${png.length} bytes`);
  } finally {
    await browser.close();
  }
}

const ARGUMENTS = '{"text":"To be, or not to be: that is the question.","limit":3}';
async function wordFrequency(browser, visit) {
  await visit(`/tools/word_frequency?args=${encodeURIComponent(ARGUMENTS)}`);
  await browser.click('.run');
  await browser.sees('.result .tree', '"count"');
}

try {
  await picture('page.png', { theme: 'light' }, async (browser, visit) => {
    await wordFrequency(browser, visit);
    await browser.click('.snippets summary');
        await browser.run(() => scrollTo(0, 0));
  });
  await picture('page-dark.png', { theme: 'dark' }, (browser, visit) => visit('/tools'));
  await picture('page-phone.png', { theme: 'light', width: 390, height: 780 }, async (browser, visit) => {
    await visit('/tools/add?args=%7B%22a%22%3A40%2C%22b%22%3A2%7D');
    await browser.click('.run');
    await browser.sees('.result .tree', '42');
    await browser.run(() => scrollTo(0, 90));
  });
  await picture('page-chat.png', { theme: 'light' }, async (browser, visit) => {
    await visit(`/tools/add_note?args=${encodeURIComponent('{"title":"Milk","text":"Two bottles"}')}`);
    await browser.click('.run');
    await browser.until('a question or a result', () => browser.run(() => document.querySelector('dialog[open], .result:not(.empty)') !== null));
    if (await browser.run(() => document.querySelector('dialog[open]') !== null)) await browser.click('dialog .row.end button:last-child');
    await browser.sees('.result .tree', '"id"');
    await visit('/chat');
    await browser.type('.composer textarea', 'Show me my notes');
    await browser.click('[aria-label="Send"]');
    await browser.sees('.messages', 'in your notes');
    await browser.until('the end', () => browser.run(() => document.querySelector('[aria-label="Send"]') !== null));
    await browser.type('.composer textarea', 'Please delete note 1');
    await browser.click('[aria-label="Send"]');
    await browser.sees('.approval', 'Always allow');
  });
} finally {
  await stack.stop();
}
