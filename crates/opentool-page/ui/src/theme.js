// Light or dark: as the system has it, or as the user chose here.

import { signal } from '@preact/signals';

const KEY = 'opentool.theme';
const CHOICES = ['system', 'light', 'dark'];

function kept() {
  try {
    const theme = localStorage.getItem(KEY);
    return CHOICES.includes(theme) ? theme : 'system';
  } catch {
    return 'system';
  }
}

/** What the user chose. */
export const theme = signal(kept());
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

function apply() {
  const isDark = theme.value === 'system' ? systemIsDark.matches : theme.value === 'dark';
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

/** The choice after this one. */
export function nextTheme() {
  return CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length];
}

export function setTheme(choice) {
  theme.value = choice;
  apply();
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Then it lasts as long as the page.
  }
}

systemIsDark.addEventListener('change', apply);
apply();
