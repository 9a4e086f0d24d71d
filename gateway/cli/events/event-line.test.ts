import { expect, test } from 'vitest'
import { plain } from '../output/style.ts'
import { type Event, eventLine } from './event-line.ts'

const EVENT: Event = {
  id: '7',
  type: 'server.step',
  at: '2026-01-10T00:00:00.000Z',
  project_id: 'p',
  server_id: '01a1ff42-fb7c-43f9-9167-f2b4e81a506f',
  server_name: 'web',
  volume_id: null,
  volume_name: null,
  snapshot_id: null,
  cell_id: 'c1',
  cell: 'north',
  host: 'north-1',
  request_id: null,
  user_id: null,
  action: 'spawn',
  result: 'error',
  state: null,
  task_state: null,
  power_state: null,
  message: 'no\u001b[2J\nroom',
}

test('an event is one line, with any message', () => {
  expect(eventLine(EVENT, plain)).toBe(
    '2026-01-10T00:00:00.000Z  server.step       north       web 01a1ff42-fb7c-43f9-9167-f2b4e81a506f north-1  spawn error  no room\n',
  )
  const ofHost = { ...EVENT, server_id: null, server_name: null, cell: null, message: null }
  expect(eventLine(ofHost, plain)).toContain('c1          north-1  spawn error\n')
})
