// Builds the page: `node build.mjs [FOLDER]`, by default into ../dist. The same sources give the same bytes.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, '../dist'));
/** What a browser may have to download at most, compressed. */
const MAX_COMPRESSED = 150_000;

/** The files of a folder, recursively, as paths relative to this one. */
function filesBelow(folder) {
  return readdirSync(join(here, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Tells a bundle of these sources from any other: a Rust test computes it again, so that it needs no Node. */
function sourceHash() {
  const paths = [...filesBelow('src'), 'build.mjs', 'package.json', 'package-lock.json'];
  paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(join(here, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** The licences of what is inside the bundle. */
function licences(metafile) {
  const packages = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) packages.add(found[1]);
  }
  const texts = [...packages].sort().map((name) => {
    const folder = join(here, 'node_modules', name);
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = readFileSync(join(folder, 'LICENSE'), 'utf8').replace(/\r\n/g, '\n').trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return `app.js contains these libraries:\n\n${texts.join(`\n${'-'.repeat(72)}\n\n`)}`;
}

const options = { bundle: true, minify: true, legalComments: 'none', charset: 'utf8', write: false, absWorkingDir: here };
const target = ['chrome111', 'firefox113', 'safari16.4'];
const script = await build({
  ...options,
  target,
  entryPoints: ['src/main.jsx'],
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  metafile: true,
  banner: { js: `// opentool-page sources sha256:${sourceHash()}` },
});
const styles = await build({ ...options, target, entryPoints: ['src/app.css'] });

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const files = {
  'index.html': readFileSync(join(here, 'src/index.html')),
  'app.js': Buffer.from(script.outputFiles[0].contents),
  'app.css': Buffer.from(styles.outputFiles[0].contents),
  'icon.svg': readFileSync(join(here, 'src/icon.svg')),
  'LICENSES.txt': Buffer.from(licences(script.metafile)),
};
let compressed = 0;
for (const [name, content] of Object.entries(files)) {
  // The compressed copies are for the server. Their bytes may differ from one version of zlib to another, what is in them may not.
  const small = gzipSync(content, { level: 9 });
  writeFileSync(join(out, name), content);
  writeFileSync(join(out, `${name}.gz`), small);
  if (name !== 'LICENSES.txt') compressed += small.length;
}
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
console.log(`page: app.js ${kilobytes(files['app.js'].length)}, app.css ${kilobytes(files['app.css'].length)}, all compressed ${kilobytes(compressed)}`);
if (compressed > MAX_COMPRESSED) {
  console.error(`page: ${compressed} bytes compressed are more than ${MAX_COMPRESSED}: leave something out`);
  process.exit(1);
}
