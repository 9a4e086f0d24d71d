import { expect, test } from 'vitest'
import { insertHost } from '#cells/db/hosts.ts'
import type { Host, TriedFenceDevice } from '#cells/hosts/host.ts'
import { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { examineFenceDevices } from './examine-fence-devices.ts'

const host = (name: string, fenceDevice: TriedFenceDevice | null): Host => ({
  ...{ id: newId<HostId>(), version: 1, name, fenceDevice, driver: 'fake', simulated: true },
  ...{ zone: 'nova', ownZone: 'nova', aggregates: [], capabilities: [] },
  ...{ settings: null, isDisabled: false },
  ...{ isUp: true, down: null, disabledReason: null, isForcedDown: false },
  ...{ isLeftAlone: false, isDeleted: false },
  ...{ fencedAt: null, fenceProblem: null, inventory: null, network: null, provider: null },
  ...{ startedAt: 0, lastSeenAt: 0 },
})
const device = (problem: string | null) => ({ name: 'fence_virsh', problem, isOfOther: false })

test('fence devices that could not be used are named with their hosts and the reasons', async () => {
  const url = await migratedDatabase('doctor_fences', 'cells')
  await using db = new Database({ url, connectionsMax: 1 })
  const examine = () => examineFenceDevices([{ name: 'north' }], () => url)

  await insertHost(db, host('bare', null))
  expect(await examine()).toMatchObject({ is: 'ok', what: expect.stringContaining('no host has') })
  await insertHost(db, host('north-1', device(null)))
  expect(await examine()).toEqual({ is: 'ok', what: 'fence devices work: 1' })
  await insertHost(db, host('north-2', device('no login.')))
  expect(await examine()).toEqual({
    is: 'bad',
    what: 'hosts that cannot be fenced: north-2 by fence_virsh: no login.',
  })

  const empty = await freshDatabase('doctor_fences_empty')
  expect(await examineFenceDevices([{ name: 'north' }], () => empty)).toMatchObject({ is: 'bad' })
})
