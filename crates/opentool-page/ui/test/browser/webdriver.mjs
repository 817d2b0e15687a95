// A small client of the WebDriver protocol, for chromedriver: what the tests need of it and no more.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';
/** The code points of keys without a character. */
export const KEYS = { enter: '\uE007', escape: '\uE00C', tab: '\uE004', down: '\uE015', up: '\uE013', right: '\uE014', control: '\uE009', backspace: '\uE003', shift: '\uE008' };

/** Starts chromedriver on a port that the system chooses. */
export async function startDriver() {
  // It chooses a port of IPv6 and then wants the same one of IPv4, which another program may have.
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await tryDriver();
    } catch (error) {
      if (attempts === 5 || !error.message.includes('port not available')) throw error;
    }
  }
}

async function tryDriver() {
  const child = spawn('chromedriver', ['--port=0', '--log-level=SEVERE'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`chromedriver cannot be started: ${error.message}; on Debian it comes with \`apt-get install chromium chromium-driver\``);
  });
  const started = (async () => {
    let text = '';
    for await (const part of child.stdout) {
      text += part;
      const found = /started successfully on port (\d+)/.exec(text);
      if (found) return `http://127.0.0.1:${found[1]}`;
    }
    throw new Error(`chromedriver ended before it listened: ${text}`);
  })();
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error('chromedriver did not say within a minute where it listens')), 60_000).unref();
  });
  let address;
  try {
    address = await Promise.race([started, failed, late]);
  } catch (error) {
    child.kill();
    throw error;
  }
  child.stdout.resume();
  return { address, stop: () => child.kill() };
}

async function command(address, method, path, body) {
  const response = await fetch(`${address}${path}`, { method, body: body === undefined ? undefined : JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  const { value } = await response.json();
  if (!response.ok) {
    const error = new Error(`${value.error}: ${value.message.split('\n')[0]}`);
    error.kind = value.error;
    throw error;
  }
  return value;
}

/** A browser window. All finders take CSS selectors and wait until the element is there. */
export class Browser {
  static async open(driver, { width = 1280, height = 900, dark = false, scale = 1 } = {}) {
    const args = ['--headless=new', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--lang=en-US', `--window-size=${width},${height}`];
    // Chromium refuses its sandbox to root; the pages are our own.
    if (process.getuid?.() === 0) args.push('--no-sandbox');
    if (dark) args.push('--force-dark-mode');
    if (scale !== 1) args.push(`--force-device-scale-factor=${scale}`);
    const options = { args, binary: process.env.CHROMIUM || undefined };
    const { sessionId } = await command(driver.address, 'POST', '/session', {
      capabilities: { alwaysMatch: { browserName: 'chrome', 'goog:chromeOptions': options, 'goog:loggingPrefs': { browser: 'ALL' } } },
    });
    const browser = new Browser(`${driver.address}/session/${sessionId}`);
    await browser.emulate(width, height, scale);
    return browser;
  }

  constructor(address) {
    this.address = address;
  }

  send(method, path, body) {
    return command(this.address, method, path, body);
  }

  close() {
    return this.send('DELETE', '');
  }

  /** The size of the page itself: a window cannot be as narrow as a phone. */
  emulate(width, height, scale = 1) {
    return this.send('POST', '/goog/cdp/execute', {
      cmd: 'Emulation.setDeviceMetricsOverride',
      params: { width, height, deviceScaleFactor: scale, mobile: false },
    });
  }

  go(url) {
    return this.send('POST', '/url', { url });
  }

  url() {
    return this.send('GET', '/url');
  }

  title() {
    return this.send('GET', '/title');
  }

  reload() {
    return this.send('POST', '/refresh', {});
  }

  /** Runs a function in the page; it cannot use anything from outside. */
  run(code, ...args) {
    return this.send('POST', '/execute/sync', { script: `return (${code}).apply(null, arguments)`, args });
  }

  /** Runs an async function in the page. */
  runAsync(code, ...args) {
    const script = `const done = arguments[arguments.length - 1]; (${code}).apply(null, [...arguments].slice(0, -1)).then((value) => done({ value }), (error) => done({ error: String(error) }))`;
    return this.send('POST', '/execute/async', { script, args }).then(({ value, error }) => {
      if (error) throw new Error(error);
      return value;
    });
  }

  /** Runs plain script text, such as a library. */
  inject(script) {
    return this.send('POST', '/execute/sync', { script, args: [] });
  }

  async screenshot() {
    return Buffer.from(await this.send('GET', '/screenshot'), 'base64');
  }

  /** What the browser's console has got since the last time. */
  log() {
    return this.send('POST', '/se/log', { type: 'browser' });
  }

  /** Waits until `check` gives something other than undefined, null, false, or throws about a missing element. */
  async until(what, check, seconds = 30) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      let last;
      try {
        const value = await check();
        if (value !== undefined && value !== null && value !== false) return value;
      } catch (error) {
        if (!['no such element', 'stale element reference', 'element not interactable', 'element click intercepted'].includes(error.kind)) throw error;
        last = error;
      }
      if (Date.now() > end) {
        const shown = await this.run(() => document.body.innerText).catch(() => '');
        throw new Error(`waited ${seconds} seconds for ${what}${last ? ` (${last.message})` : ''}; the page shows:\n${shown}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }

  async element(selector) {
    const found = await this.send('POST', '/element', { using: 'css selector', value: selector });
    return found[ELEMENT];
  }

  click(selector) {
    return this.until(`something to click: ${selector}`, async () => {
      await this.clickElement(await this.element(selector));
      return true;
    });
  }

  /** Clicks an element after it was scrolled to: the driver does not see that the top bar covers it. */
  async clickElement(id) {
    await this.run((element) => element.scrollIntoView({ block: 'center' }), { [ELEMENT]: id });
    await this.send('POST', `/element/${id}/click`, {});
  }

  /** Clicks the element with exactly this text, or with this text in it. */
  clickText(text, selector = 'button, a', { whole = true } = {}) {
    return this.until(`“${text}” to click`, async () => {
      const found = await this.run(
        (words, all, isWhole) =>
          [...document.querySelectorAll(all)].find((element) => (isWhole ? element.textContent.trim() === words : element.textContent.includes(words)) && element.checkVisibility()) ?? null,
        text,
        selector,
        whole,
      );
      if (!found) return false;
      await this.clickElement(found[ELEMENT]);
      return true;
    });
  }

  /** Types into a field, after what is there. */
  type(selector, text) {
    return this.until(`a field to type into: ${selector}`, async () => {
      await this.send('POST', `/element/${await this.element(selector)}/value`, { text });
      return true;
    });
  }

  async clear(selector) {
    return this.send('POST', `/element/${await this.element(selector)}/clear`, {});
  }

  /** Presses keys wherever the focus is: all down in order, then up. */
  async press(...keys) {
    const down = keys.map((value) => ({ type: 'keyDown', value }));
    const up = [...keys].reverse().map((value) => ({ type: 'keyUp', value }));
    await this.send('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions: [...down, ...up] }] });
  }

  /** The text of an element as it is shown. */
  text(selector) {
    return this.run((all) => document.querySelector(all)?.innerText ?? null, selector);
  }

  /** Waits until an element shows the text. */
  sees(selector, text) {
    return this.until(`“${text}” in ${selector}`, async () => (await this.text(selector))?.includes(text));
  }

  gone(selector) {
    return this.until(`${selector} to be gone`, () => this.run((all) => document.querySelector(all) === null, selector));
  }

  value(selector) {
    return this.run((all) => document.querySelector(all)?.value ?? null, selector);
  }
}
