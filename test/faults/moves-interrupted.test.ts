import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { FaultyMethod } from '#drivers/fake/faults.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, SERVERS, showServer, untilGone } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// A process is killed in the middle of a change of host or size: the server must be on one host, and held by it alone, with
// its volumes, which nothing holds once it is deleted.

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let larger: string
let server: string

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, processesPerCell: 1, hostsPerCell: 2 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const flavor = { name: 'larger', vcpus: 2, ram: 192, disk: 1 }
  const made = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', { flavor })
  larger = made.body.flavor.id
  await storesReported(cloud)
})
afterEach(async () => {
  for (const host of cloud.hosts) host.fail()
  await demo.delete(`${SERVERS}/${server}`)
  await untilGone(demo, server)
  await expect.poll(volumes, PATIENCE).toEqual([])
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const PATIENCE = { timeout: 60_000 }
const TEST_MS = 120_000

type Killed = 'source' | 'dest' | 'cell'
interface Case {
  readonly what: 'migrate' | 'live-migrate' | 'resize' | 'evacuate'
  /** What the driver is in the middle of. */
  readonly at: FaultyMethod
  readonly killed: Killed
}
const each = (what: Case['what'], at: FaultyMethod, ...killed: readonly Killed[]): Case[] =>
  killed.map((who) => ({ what, at, killed: who }))

const SHORT = [...each('migrate', 'arrive', 'dest'), ...each('live-migrate', 'send', 'source')]
const LONG = [
  ...each('migrate', 'pack', 'source', 'cell'),
  ...each('migrate', 'arrive', 'source', 'dest', 'cell'),
  ...each('live-migrate', 'expect', 'dest'),
  ...each('live-migrate', 'send', 'source', 'dest', 'cell'),
  ...each('live-migrate', 'finish', 'dest', 'cell'),
  ...each('resize', 'resize', 'source', 'cell'),
  ...each('evacuate', 'spawn', 'dest', 'cell'),
]

/** It starts from a volume and has another one; both go with it. */
const fromVolumes = () => {
  const volume = { destination_type: 'volume', delete_on_termination: true, volume_size: 1 }
  const image = { ...volume, source_type: 'image', uuid: cloud.catalog.image, boot_index: 0 }
  const disks = [image, { ...volume, source_type: 'blank', boot_index: -1 }]
  return { imageRef: undefined, block_device_mapping_v2: disks }
}
const volumes = async () => (await demo.get('/volume/v3/volumes')).body['volumes']

const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host'] as string
const taskOf = async (id: string) => (await showServer(admin, id))['OS-EXT-STS:task_state']
const setDown = (host: string, forced_down: boolean) =>
  admin.put(
    '/compute/v2.1/os-services/force-down',
    { host, binary: 'nova-compute', forced_down },
    { version: '2.11' },
  )

const hostsUp = async () => {
  type Services = { readonly services: readonly { readonly state: string }[] }
  const path = '/compute/v2.1/os-services?binary=nova-compute'
  const { body } = await admin.get<Services>(path)
  return body.services.filter(({ state }) => state === 'up').length
}
/** None, for a move that found no place. */
const destinationOf = async (id: string) => {
  type Migrations = { readonly migrations: readonly { readonly dest_compute: string | null }[] }
  const path = `/compute/v2.1/os-migrations?instance_uuid=${id}`
  return (await admin.get<Migrations>(path, { version: '2.80' })).body.migrations[0]?.dest_compute
}

async function begin(what: Case['what'], id: string, source: string): Promise<void> {
  if (what === 'evacuate') await setDown(source, true)
  const [body, version] = {
    migrate: [{ migrate: null }, '2.1'] as const,
    'live-migrate': [
      { 'os-migrateLive': { host: null, block_migration: 'auto' } },
      '2.34',
    ] as const,
    resize: [{ resize: { flavorRef: larger } }, '2.1'] as const,
    evacuate: [{ evacuate: {} }, '2.14'] as const,
  }[what]
  expect([200, 202]).toContain((await act(admin, id, body, { version })).status)
  await expect.poll(() => taskOf(id), PATIENCE).not.toBeNull()
}

describe('a server', () => {
  test.each(isFullRun ? LONG : SHORT)(
    'is on one host after the $killed is killed during its $what, at its $at',
    async ({ what, at, killed }) => {
      await expect.poll(hostsUp, PATIENCE).toBe(2)
      const { id } = await activeServer(cloud, demo, fromVolumes())
      server = id
      const source = await hostOf(id)
      const [own, other] = cloud.hosts.toSorted((a) => (a.name === source ? -1 : 1))
      for (const host of cloud.hosts) host.fail({ method: at, effect: { do: 'hang' } })
      await begin(what, id, source)

      const process = { source: own, dest: other, cell: undefined }[killed]?.process
      const victim = process ?? cloud.cell('north').processes[0]!
      await victim.kill()
      await victim.start()
      for (const host of cloud.hosts) host.fail()

      await expect.poll(() => taskOf(id), PATIENCE).toBeNull()
      expect(await destinationOf(id)).toEqual(expect.any(String))
      if (what === 'evacuate') await setDown(source, false)
      const { status } = await showServer(demo, id)
      expect(['ACTIVE', 'VERIFY_RESIZE']).toContain(status)
      if (status === 'VERIFY_RESIZE')
        expect((await act(demo, id, { confirmResize: null })).status).toBe(204)
      await expect.poll(async () => (await showServer(demo, id)).status, PATIENCE).toBe('ACTIVE')
      const place = await hostOf(id)
      const holders = async () => {
        const found = cloud.hosts.map(async (host) =>
          (await host.guests()).includes(id) ? [host.name] : [],
        )
        return (await Promise.all(found)).flat()
      }
      await expect.poll(holders, PATIENCE).toEqual([place])
      await expectInvariants(cloud, PATIENCE.timeout)
    },
    TEST_MS,
  )
})
