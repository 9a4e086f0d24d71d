import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, SERVERS, showServer, untilGone } from '#test/env/api/servers.ts'
import { showStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

// A process is killed while a server that starts from a volume is rebuilt or rescued: what was asked for is done in the end, and
// the volume is the server's.

let cloud: Cloud
let demo: ApiClient
let image: string
let server: string

beforeAll(async () => {
  if (!isFullRun) return
  cloud = await startCloud({ gateways: 2, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  demo = cloud.as('demo')
  const own = { disk_format: 'raw', container_format: 'bare', hypervisor_type: 'fake' }
  const device = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
  const draft = { name: 'other', ...own, ...device }
  image = (await demo.post<{ id: string }>('/image/v2/images', draft)).body.id
  await demo.call('PUT', `/image/v2/images/${image}/file`, undefined, {
    raw: Buffer.from('other'),
    headers: { 'content-type': 'application/octet-stream' },
  })
  await storesReported(cloud)
})
afterEach(async () => {
  if (!isFullRun) return
  for (const host of cloud.hosts) host.fail()
  await demo.delete(`${SERVERS}/${server}`)
  await untilGone(demo, server)
  await expect.poll(volumes, PATIENCE).toEqual([])
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const PATIENCE = { timeout: 60_000 }
const TEST_MS = 120_000

const volumes = async () =>
  (await demo.get('/volume/v3/volumes')).body['volumes'] as readonly { readonly id: string }[]
const taskOf = async (id: string) =>
  (await showServer(cloud.as('admin'), id))['OS-EXT-STS:task_state']

const ACTS = {
  rebuild: { version: '2.93', ends: 'ACTIVE', body: () => ({ rebuild: { imageRef: image } }) },
  rescue: {
    version: '2.87',
    ends: 'RESCUE',
    body: () => ({ rescue: { rescue_image_ref: image } }),
  },
} as const satisfies Record<string, { version: Microversion; ends: string; body: () => object }>
type Killed = 'gateway' | 'cell' | 'host'
const CASES = (['rebuild', 'rescue'] as const).flatMap((what) =>
  (['gateway', 'cell', 'host'] as const).map((killed): readonly [Killed, keyof typeof ACTS] => [
    killed,
    what,
  ]),
)

describe.runIf(isFullRun)('a server that starts from a volume', () => {
  test.each(CASES)(
    'after the %s is killed during its %s',
    async (killed, what) => {
      const volume = { destination_type: 'volume', delete_on_termination: true, volume_size: 1 }
      const root = { ...volume, source_type: 'image', uuid: cloud.catalog.image, boot_index: 0 }
      const disks = { imageRef: undefined, block_device_mapping_v2: [root] }
      const { id } = await activeServer(cloud, demo, disks)
      server = id
      const [{ id: volumeId } = { id: '' }] = await volumes()
      for (const host of cloud.hosts) host.fail({ method: what, effect: { do: 'hang' } })
      const { body, version, ends } = ACTS[what]
      expect((await act(demo, id, body(), { version })).status).toBeLessThan(300)
      await expect.poll(() => taskOf(id), PATIENCE).not.toBeNull()

      const victims = {
        gateway: cloud.gateways[1]!,
        cell: cloud.cell('north').processes[0]!,
        host: cloud.hosts[0]!.process,
      }
      await victims[killed].kill()
      await victims[killed].start()
      for (const host of cloud.hosts) host.fail()

      await expect.poll(async () => (await showServer(demo, id)).status, PATIENCE).toBe(ends)
      await expect
        .poll(() => showStored(demo, 'volume', volumeId), PATIENCE)
        .toMatchObject({
          ...{ id: volumeId, status: 'in-use', attachments: [{ server_id: id }] },
          volume_image_metadata: {
            image_id: what === 'rebuild' ? image : cloud.catalog.image,
          },
        })
      await expectInvariants(cloud, PATIENCE.timeout)
    },
    TEST_MS,
  )
})
