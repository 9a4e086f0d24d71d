import { expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { HostUsage } from '../db/hosts.ts'
import type { Host } from './host.ts'
import { hostsAsRead } from './hosts-as-read.ts'

const id = newId<HostId>()
const provider = {
  generation: 4,
  limits: { vcpus: 8, memoryMb: 1_024, diskGb: 10 },
  used: { vcpus: 1, memoryMb: 128, diskGb: 1 },
  instances: 1,
}
const enabled: Host = {
  id,
  version: 2,
  name: 'host',
  zone: 'nova',
  ownZone: 'nova',
  aggregates: [],
  settings: null,
  driver: 'fake',
  simulated: true,
  capabilities: [],
  isUp: true,
  down: null,
  isDisabled: false,
  disabledReason: null,
  isForcedDown: false,
  isLeftAlone: false,
  fencedAt: null,
  fenceProblem: null,
  fenceDevice: null,
  inventory: null,
  network: null,
  startedAt: 0,
  lastSeenAt: 0,
  provider: null,
  isDeleted: false,
}
const disabled: Host = { ...enabled, version: 1, isDisabled: true }
const usage: HostUsage = { id, version: 2, shownGeneration: 0, provider }

test('a row read late does not undo the newer one that is known', () => {
  expect(hostsAsRead(new Map([[id, enabled]]), [usage], [disabled]).get(id)).toEqual({
    ...enabled,
    provider,
  })
})

test('a newer row takes the place of the known one; one not read stays, and one without usage goes', () => {
  const known = new Map([[id, disabled]])

  expect(hostsAsRead(known, [usage], [enabled]).get(id)?.isDisabled).toBe(false)
  expect(hostsAsRead(known, [usage], []).get(id)?.isDisabled).toBe(true)
  expect(hostsAsRead(known, [], []).size).toBe(0)
})
