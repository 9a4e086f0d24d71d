import { expect, test } from 'vitest'
import { recordedName, SERVER_ACTION_NAMES, SERVER_ACTIONS } from '#common/states/server-actions.ts'
import { BUILD_EVENT } from '#openapi/wire/feed.ts'
import type { EventDetails, EventType } from '../../db/event-inbox.ts'
import { eventTypeOf } from './event-types.ts'

const nameOf = (type: EventType, details: EventDetails, action?: string, isSoft = false) =>
  eventTypeOf({ type, details }, action, isSoft)?.name

/** Nova has no notification of it. */
const WITHOUT = new Set(['forgetDiskChanges', 'resetState'])

test('every action on a server has a notification, but those of which Nova sends none or which it does not have', () => {
  const recorded = SERVER_ACTION_NAMES.flatMap((name) => recordedName(name) ?? [])
  const silent = recorded.filter(
    (action) => nameOf('server.action', { action, message: null }) === undefined,
  )

  expect(new Set(silent)).toEqual(WITHOUT)
})

test('the step of every action that has a notification with phases ends it', () => {
  const ends = SERVER_ACTION_NAMES.flatMap((name) => {
    const action = recordedName(name)
    const { event } = SERVER_ACTIONS[name]
    if (action === null || event === null || WITHOUT.has(action)) return []
    return nameOf('server.step', { action: event, result: 'success' }, action) ?? []
  })

  expect(ends.filter((name) => !name.endsWith('.end'))).toEqual([])
  expect(ends).toContain('instance.power_on.end')
  expect(ends).toContain('instance.live_migration_post_dest.end')
  expect(ends).toContain('instance.snapshot.end')
  expect(ends).toContain('instance.soft_delete.end')
})

test.each<[string, EventType, EventDetails, string | undefined, string | undefined]>([
  [
    'a build',
    'server.step',
    { action: BUILD_EVENT, result: 'success' },
    undefined,
    'instance.create.end',
  ],
  [
    'a failed build',
    'server.step',
    { action: BUILD_EVENT, result: 'error' },
    'create',
    'instance.create.error',
  ],
  [
    'a failed start',
    'server.step',
    { action: 'compute_start_instance', result: 'error' },
    'start',
    'compute.exception',
  ],
  ['an evacuation', 'server.action', { action: 'evacuate' }, undefined, 'instance.evacuate'],
  [
    'an action that failed',
    'server.action',
    { action: 'stop', result: 'error' },
    'stop',
    undefined,
  ],
  ['a host that left', 'host.state', { state: 'deleted' }, undefined, 'service.delete'],
  ['a host that another cell has', 'host.state', { state: 'refused' }, undefined, undefined],
  ['a volume', 'volume.state', { state: 'in-use' }, undefined, undefined],
])('%s is notified as Nova does it', (_, type, details, action, name) => {
  expect(nameOf(type, details, action)).toBe(name)
})

test('a delete that keeps the server is another than one that does not', () => {
  expect(nameOf('server.action', { action: 'delete' })).toBe('instance.delete.start')
  expect(nameOf('server.action', { action: 'delete' }, 'delete', true)).toBe(
    'instance.soft_delete.start',
  )
})
