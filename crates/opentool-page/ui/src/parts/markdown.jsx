// Markdown as elements. No HTML, no remote images, links only to the web and without a referrer.

import { useMemo } from 'preact/hooks';
import { blocks } from '../markdown.js';
import { Code } from './basics.jsx';

export function Markdown({ text }) {
  const tree = useMemo(() => blocks(text), [text]);
  return <div class="markdown">{tree.map(block)}</div>;
}

function block(item, key) {
  switch (item.type) {
    case 'heading': {
      // Below the headings of the page.
      const Heading = `h${Math.min(item.level + 1, 6)}`;
      return <Heading key={key}>{item.inline.map(span)}</Heading>;
    }
    case 'code':
      return <Code key={key} text={item.text} label={item.language ? `Code in ${item.language}` : 'Code'} />;
    case 'list': {
      const List = item.ordered ? 'ol' : 'ul';
      return (
        <List key={key} start={item.ordered && item.start !== 1 ? item.start : undefined}>
          {item.items.map((inner, index) => (
            <li key={index}>{inner.length === 1 && inner[0].type === 'paragraph' ? inner[0].inline.map(span) : inner.map(block)}</li>
          ))}
        </List>
      );
    }
    case 'quote':
      return <blockquote key={key}>{item.blocks.map(block)}</blockquote>;
    case 'table':
      return (
        <div key={key} class="table-frame" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {item.head.map((cell, index) => (
                  <th key={index} scope="col">
                    {cell.map(span)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {item.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, at) => (
                    <td key={at}>{cell.map(span)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr key={key} />;
    default:
      return <p key={key}>{item.inline.map(span)}</p>;
  }
}

function span(item, key) {
  if (typeof item === 'string') return item;
  switch (item.type) {
    case 'code':
      return <code key={key}>{item.text}</code>;
    case 'strong':
      return <strong key={key}>{item.inline.map(span)}</strong>;
    case 'emphasis':
      return <em key={key}>{item.inline.map(span)}</em>;
    case 'deleted':
      return <del key={key}>{item.inline.map(span)}</del>;
    case 'image':
      return (
        <span key={key} class="muted">
          [image{item.alt && `: ${item.alt}`}, not loaded: {item.target}]
        </span>
      );
    default:
      return (
        <a key={key} href={item.target} title={item.target} target="_blank" rel="noopener noreferrer nofollow">
          {item.inline.map(span)}
        </a>
      );
  }
}
