import { stripVTControlCharacters } from 'node:util'
import type { components } from '#openapi/federation.gen.ts'
import type { Style, Tone } from '../output/style.ts'

export type Event = components['schemas']['Event']

const TYPE_WIDTH = 15
const CELL_WIDTH = 10
const TONES: Readonly<Record<string, Tone>> = { error: 'bad', success: 'good' }

/** An event on a line: when, what kind, where, about whom, and what. `names` are those of cells by their ids. */
export function eventLine(event: Event, names: ReadonlyMap<string, string>, style: Style): string {
  const { at, type, cell_id, server_id, host, action, result, state, task_state, message } = event
  const cell = cell_id === null ? '-' : (names.get(cell_id) ?? cell_id)
  const subject = server_id ?? host ?? '-'
  const what = [action, result, state, task_state].filter((each) => each !== null).join(' ')
  const line = [
    style('dim', at),
    type.padEnd(TYPE_WIDTH),
    cell.padEnd(CELL_WIDTH),
    subject,
    style(TONES[result ?? ''], what),
    ...(message === null ? [] : [oneLine(message)]),
  ]
  return `${line.join('  ').trimEnd()}\n`
}

/** Messages are whatever a backend said. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}+/gu, ' ')
}
