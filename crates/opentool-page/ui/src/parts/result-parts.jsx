// The parts of a result by their type. Nothing is ever rendered as HTML, and nothing is loaded from another place.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { size } from '../format.js';
import { stringify } from '../json.js';
import { CopyButton } from './basics.jsx';
import { Icon } from './icons.jsx';
import { JsonTree } from './json-tree.jsx';

/** Longer texts are shown in part at first: browsers lay out megabytes slowly. */
const MAX_TEXT = 100_000;
const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/;

export function ResultParts({ parts }) {
  if (!parts || parts.length === 0) return <p class="muted">The tool gave no value.</p>;
  return (
    <div class="parts">
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </div>
  );
}

function Part({ part }) {
  switch (part.type) {
    case 'text':
      return <TextPart text={part.text} name={part.name} />;
    case 'json':
      return (
        <div class="part">
          <JsonTree value={part.value} />
          <CopyButton text={() => stringify(part.value, 2)} label="Copy JSON" />
        </div>
      );
    case 'image':
      return IMAGES.test(part.mimeType ?? '') ? <ImagePart part={part} /> : <FilePart part={part} />;
    case 'audio':
      return /^audio\/[\w.+-]+$/.test(part.mimeType ?? '') ? <AudioPart part={part} /> : <FilePart part={part} />;
    case 'link':
      return <LinkPart part={part} />;
    default:
      return typeof part.data === 'string' ? <FilePart part={part} /> : <TextPart text={JSON.stringify(part, null, 2)} />;
  }
}

export function TextPart({ text, name }) {
  const [whole, setWhole] = useState(text.length <= MAX_TEXT);
  if (text === '') return <p class="muted">The text is empty.</p>;
  return (
    <div class="part">
      {name && <code class="muted">{name}</code>}
      <pre class="text">{whole ? text : text.slice(0, MAX_TEXT)}</pre>
      <div class="row">
        {!whole && (
          <button type="button" class="quiet small" onClick={() => setWhole(true)}>
            Show all {text.length} characters
          </button>
        )}
        <CopyButton text={text} label="Copy text" />
      </div>
    </div>
  );
}

/** The bytes of a part behind an address that lives as long as it is shown; null where they are not base64. */
function useBlob(part) {
  const url = useMemo(() => {
    try {
      const bytes = Uint8Array.from(atob(part.data), (char) => char.charCodeAt(0));
      return { url: URL.createObjectURL(new Blob([bytes], { type: part.mimeType })), bytes: bytes.length };
    } catch {
      return null;
    }
  }, [part]);
  useEffect(() => () => url && URL.revokeObjectURL(url.url), [url]);
  return url;
}

function Unreadable({ part }) {
  return <p class="muted">The {part.type} cannot be shown: its data is not base64.</p>;
}

function fileName(part) {
  const ending = (part.mimeType ?? '').split('/')[1]?.replace(/\+.*/, '').replace(/[^a-z0-9]/g, '') || 'bin';
  return part.name?.split(/[/\\]/).pop() || `result.${ending}`;
}

function Download({ part, blob }) {
  return (
    <a class="button quiet small" href={blob.url} download={fileName(part)}>
      <Icon name="download" />
      {fileName(part)}, {size(blob.bytes)}
    </a>
  );
}

function ImagePart({ part }) {
  const blob = useBlob(part);
  const [broken, setBroken] = useState(false);
  if (!blob) return <Unreadable part={part} />;
  return (
    <figure class="part">
      {broken ? (
        <p class="muted">The data is not an image of the type {part.mimeType}.</p>
      ) : (
        <img src={blob.url} alt={part.name ? `Image ${part.name}` : 'Image of the result'} onError={() => setBroken(true)} />
      )}
      <figcaption>
        <Download part={part} blob={blob} />
        <span class="muted">{part.mimeType}</span>
      </figcaption>
    </figure>
  );
}

function AudioPart({ part }) {
  const blob = useBlob(part);
  if (!blob) return <Unreadable part={part} />;
  return (
    <figure class="part">
      <audio controls src={blob.url} aria-label={part.name ?? 'Audio of the result'} />
      <figcaption>
        <Download part={part} blob={blob} />
        <span class="muted">{part.mimeType}</span>
      </figcaption>
    </figure>
  );
}

function FilePart({ part }) {
  // Never the type that the tool gave: a browser might open it.
  const blob = useBlob(useMemo(() => ({ ...part, mimeType: 'application/octet-stream' }), [part]));
  if (!blob) return <Unreadable part={part} />;
  return (
    <div class="part row">
      <Download part={part} blob={blob} />
      <span class="muted">{part.mimeType}</span>
    </div>
  );
}

function LinkPart({ part }) {
  const isWeb = /^https?:\/\//i.test(part.uri ?? '');
  return (
    <div class="part">
      {(part.title ?? part.name) && <strong>{part.title ?? part.name}</strong>}
      {part.description && <p class="about">{part.description}</p>}
      {isWeb ? (
        <a href={part.uri} target="_blank" rel="noopener noreferrer nofollow">
          {part.uri}
        </a>
      ) : (
        <code>{part.uri}</code>
      )}
    </div>
  );
}
