import { stripVTControlCharacters } from 'node:util'
import type { components } from '#openapi/federation.gen.ts'
import type { Emphasis, Style } from '../output/style.ts'
import type { View } from '../output/view.ts'

export type Event = components['schemas']['Event']

const TYPE_WIDTH = 16
const CELL_WIDTH = 10
const EMPHASES: Readonly<Record<string, Emphasis>> = { error: 'error', success: 'success' }

/** Events, a line each. */
export function eventsView(events: readonly Event[]): View {
  return {
    data: events,
    names: events.map(({ id }) => id),
    text: (_isWide, style) =>
      events.length === 0
        ? 'No events.\n'
        : events.map((event) => eventLine(event, style)).join(''),
  }
}

/** An event on a line: when, what kind, where, about what, and what happened. */
export function eventLine(event: Event, style: Style): string {
  const { at, type, cell_id, action, result, state, task_state, message } = event
  const cell = event.cell ?? cell_id ?? '-'
  const about = [event.server_name, event.server_id, event.volume_name, event.volume_id]
  const subject = [...about, event.snapshot_id, event.host].filter((each) => each != null)
  const what = [action, result, state, task_state].filter((each) => each !== null).join(' ')
  const line = [
    style('muted', at),
    type.padEnd(TYPE_WIDTH),
    cell.padEnd(CELL_WIDTH),
    subject.length === 0 ? '-' : oneLine(subject.join(' ')),
    style(EMPHASES[result ?? ''], what),
    ...(message === null ? [] : [oneLine(message)]),
  ]
  return `${line.join('  ').trimEnd()}\n`
}

/** Messages contain text of backends, which may have several lines. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}+/gu, ' ')
}
