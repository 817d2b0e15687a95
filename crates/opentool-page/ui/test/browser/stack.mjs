// All that a file of browser tests needs: the server with its model and journal, the driver, and one browser that is signed in.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startModel } from './model.mjs';
import { TestServer, WORKSHOP, interruptedJournal, suspendedChat } from './server.mjs';
import { Browser, startDriver } from './webdriver.mjs';

/** Runs before the page's own scripts: a violation of the policy becomes an error of the console. */
const WATCH_POLICY = `document.addEventListener('securitypolicyviolation', (event) => console.error('CSP violation', event.violatedDirective, event.blockedURI));`;

export async function startStack(sources = WORKSHOP) {
  const folder = mkdtempSync(join(tmpdir(), 'opentool-browser-'));
  const journal = await interruptedJournal(folder);
  const model = await startModel();
  const server = await TestServer.start({
    args: [...sources, '--journal', journal, '--model', 'openai:scripted', '--model-url', model.url],
    env: { OPENAI_API_KEY: 'not-a-real-key' },
  });
  let driver;
  try {
    driver = await startDriver();
  } catch (error) {
    // Otherwise what runs would keep the tests from ending.
    await server.stop();
    model.stop();
    throw error;
  }
  return {
    folder,
    model,
    server,
    driver,
    /** Leaves a chat that waits for approval; resolves to the id of its run. */
    suspendedChat: () => suspendedChat(journal, model),
    async open(options) {
      const browser = await Browser.open(driver, options);
      await browser.send('POST', '/goog/cdp/execute', { cmd: 'Page.addScriptToEvaluateOnNewDocument', params: { source: WATCH_POLICY } });
      return browser;
    },
    async signIn(browser, to = '/tools') {
      await browser.go(await server.link(to));
      await browser.until('the page to be signed in', () => browser.run(() => document.querySelector('.search-button') !== null));
    },
    async stop() {
      await server.stop();
      driver.stop();
      model.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Errors of the console since the last time; `expected` are patterns of those that the test itself provoked. */
export async function consoleErrors(browser, expected = []) {
  const entries = await browser.log();
  return entries
    .filter((entry) => entry.level === 'SEVERE' || entry.level === 'WARNING')
    .map((entry) => entry.message)
    .filter((message) => !expected.some((pattern) => pattern.test(message)));
}
