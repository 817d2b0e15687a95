// Where the focus is when what had it goes away: never at the beginning of the page.

const TEXT_FIELDS = 'textarea, select, [contenteditable], input:not([type=button], [type=checkbox], [type=radio], [type=file])';

/** Moves the focus to something new, unless the user is writing elsewhere. */
export function focusUnlessTyping(element) {
  if (!document.activeElement?.matches(TEXT_FIELDS)) element?.focus();
}

/** What has the focus, and all that is around it; null after the user left it. */
let focused = null;

const isThere = (element) => element.isConnected && !element.disabled;

/**
 * Keeps the focus near: where its element is removed or disabled, what is around it gets it, if that can (`tabIndex={-1}`). The attribute
 * `data-refocus` names something inside by a selector that gets it instead. A control next to it would be a trap for a second key.
 */
export function keepFocus() {
  addEventListener('focusin', ({ target }) => {
    const around = [];
    for (let parent = target.parentElement; parent; parent = parent.parentElement) around.push(parent);
    focused = { element: target, around };
  });
  addEventListener('focusout', ({ target }) => {
    // A removed element is left too, in some browsers before it is removed.
    setTimeout(() => {
      if (focused?.element === target && isThere(target)) focused = null;
    });
  });
  const look = () => {
    if (!focused || isThere(focused.element)) return;
    const { element, around } = focused;
    focused = null;
    if (document.activeElement !== document.body && document.activeElement !== element) return;
    for (const parent of around) {
      if (!parent.isConnected) continue;
      const named = parent.dataset.refocus && parent.querySelector(parent.dataset.refocus);
      const next = named || (parent.hasAttribute('tabindex') ? parent : null);
      if (!next) continue;
      next.focus({ preventScroll: true });
      return;
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] });
}
