import { styleText } from 'node:util'
import type { Env } from '#common/env.ts'
import type { Screen } from '../operator.ts'

/** What colour a value has, by what it means. */
export type Tone = 'good' | 'bad' | 'doubtful' | 'dim' | 'heading'

/** Colours text, or leaves it as it is. */
export type Style = (tone: Tone | undefined, text: string) => string

const COLOURS = {
  good: 'green',
  bad: 'red',
  doubtful: 'yellow',
  dim: 'dim',
  heading: 'bold',
} as const satisfies Record<Tone, Parameters<typeof styleText>[0]>

/** Text as it is. */
export const plain: Style = (_tone, text) => text

const coloured: Style = (tone, text) =>
  tone === undefined || text === ''
    ? text
    : styleText(COLOURS[tone], text, { validateStream: false })

/** Colours for a terminal, unless its owner wants none (https://no-color.org). */
export function styleFor(screen: Screen, env: Env): Style {
  const isPlain = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return screen.isTTY === true && !isPlain ? coloured : plain
}
