// Line icons on a grid of 24; they are decoration, the words stand beside them or in a label.

const PATHS = {
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm9 2-4-4',
  play: 'M7 5v14l12-7L7 5Z',
  stop: 'M7 7h10v10H7z',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'm5 13 4 4L19 7',
  cross: 'm6 6 12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  up: 'm6 14 6-6 6 6',
  down: 'm6 10 6 6 6-6',
  right: 'm9 6 6 6-6 6',
  back: 'm15 6-6 6 6 6',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-14v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z',
  screen: 'M4 5h16v11H4zM9 20h6m-3-4v4',
  tools: 'm5 8 4 4-4 4m7 0h7',
  chat: 'M4 5h16v11H9l-5 4V5Z',
  runs: 'M5 6h14M5 12h9M5 18h6m6-3v6m3-3h-6',
  history: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4m4 0v4l3 2',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.6-5.7l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.6 5.7l1-1',
  warning: 'M12 4 2.5 20h19L12 4Zm0 6v4m0 3v.01',
  attach: 'm20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8l-8.4 8.4a1.7 1.7 0 0 1-2.4-2.4l7.5-7.5',
  send: 'M12 20V5m-6 6 6-6 6 6',
  exit: 'M14 4h5v16h-5M4 12h11m-4-4 4 4-4 4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  replay: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12Zm10 3a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  download: 'M12 4v11m-5-5 5 5 5-5M5 20h14',
};

export function Icon({ name }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
