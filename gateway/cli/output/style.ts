import { styleText } from 'node:util'
import type { Env } from '#common/env.ts'
import type { Screen } from '../operator.ts'

/** How a value stands out, by its meaning. */
export type Emphasis = 'success' | 'error' | 'warning' | 'muted' | 'heading'

/** Colours text, or leaves it as it is. */
export type Style = (emphasis: Emphasis | undefined, text: string) => string

const COLOURS = {
  success: 'green',
  error: 'red',
  warning: 'yellow',
  muted: 'dim',
  heading: 'bold',
} as const satisfies Record<Emphasis, Parameters<typeof styleText>[0]>

/** Text as it is. */
export const plain: Style = (_emphasis, text) => text

const coloured: Style = (emphasis, text) =>
  emphasis === undefined || text === ''
    ? text
    : styleText(COLOURS[emphasis], text, { validateStream: false })

/** Colours for a terminal, unless its owner wants none (https://no-color.org). */
export function styleFor(screen: Screen, env: Env): Style {
  const isPlain = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return screen.isTTY === true && !isPlain ? coloured : plain
}
