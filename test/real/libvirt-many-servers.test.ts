import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { deleteServer, SERVERS, type Server, showServer } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import type { LibvirtSite } from './libvirt-site.ts'
import {
  allocationsOf,
  domainsOn,
  foldersOn,
  startTwoHosts,
  usageOf,
  usagesOf,
} from './libvirt-two-hosts.ts'
import { whyNoGuests } from './requirements.ts'
import type { ServerCells } from './server-cells.ts'

// Goal: the QEMU guests of one request run spread over two libvirt hosts, or there is none of them.

const LIMIT_MS = 180_000
const TEST_MS = 400_000
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64']
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'
/** A host has 2 GiB of memory and 20 GB of disk, and none of it is promised twice; a server takes 512 MiB and 5 GB. */
const PER_HOST = 4
const NOTHING = { VCPU: 0, MEMORY_MB: 0, DISK_GB: 0 }
const usedBy = (servers: number) => ({
  ...{ VCPU: servers, MEMORY_MB: servers * 512, DISK_GB: servers * 5 },
})

describe.skipIf(why !== undefined)(
  `many servers of one request on two libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let hosts: readonly [LibvirtSite, LibvirtSite]
    let imageRef: string

    beforeAll(async () => {
      const settings = { CELL_RAM_ALLOCATION_RATIO: '1' }
      const started = await startTwoHosts(owned, { limitMs: LIMIT_MS, settings })
      cloud = started.cloud
      cells = started.cells
      hosts = started.hosts
      imageRef = started.imageRef
    }, TEST_MS)
    afterEach(async () => {
      for (const { id } of await servers()) await deleteServer(cells.demo, id)
      await expectNothing()
      await expectInvariants(cloud)
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    const servers = async () =>
      (await cells.demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail`)).body.servers

    function askFor(count: number) {
      const many = { name: 'many', min_count: count, max_count: count }
      const { small: flavorRef } = cloud.catalog
      const server = { ...many, imageRef, networks: 'none', flavorRef }
      return cells.demo.post(SERVERS, { server }, { version: '2.37' })
    }

    /** Neither libvirt nor the disks nor placement have anything of a server. */
    async function expectNothing(): Promise<void> {
      for (const site of hosts) {
        expect(await domainsOn(site)).toEqual([])
        expect(foldersOn(cloud, site)).toEqual([])
        await expect.poll(() => usagesOf(cells, site)).toMatchObject(NOTHING)
      }
    }

    /** Fails unless exactly these run, as many on the one host as on the other. */
    async function expectSpread(ids: readonly string[]): Promise<void> {
      for (const id of ids) await cells.until(id, 'ACTIVE')
      const running: string[] = []
      for (const site of hosts) {
        const there = await domainsOn(site, 'running')
        expect(there).toHaveLength(ids.length / 2)
        expect(await domainsOn(site)).toEqual(there)
        for (const id of there) {
          expect(await cells.hostOf(id)).toBe(site.host.name)
          expect(await allocationsOf(cells, id)).toMatchObject({
            [site.host.id]: { resources: usedBy(1) },
          })
        }
        await expect.poll(() => usagesOf(cells, site)).toMatchObject(usedBy(there.length))
        running.push(...there)
      }
      expect(running.toSorted()).toEqual(ids.toSorted())
    }

    test(
      'four that are asked for at once run, two on each host',
      async () => {
        expect((await askFor(4)).status).toBe(202)

        const made = await servers()
        const names = made.map(({ name }) => name)
        expect(names.toSorted()).toEqual(['many-1', 'many-2', 'many-3', 'many-4'])
        await expectSpread(made.map(({ id }) => id))
        expect(await usageOf(cells)).toMatchObject({
          ...{ totalInstancesUsed: 4, totalCoresUsed: 4, totalRAMUsed: 2048 },
        })
      },
      TEST_MS,
    )

    test(
      'of one more than there is room for none is built, and nothing is left; as many as there is room for all run then',
      async () => {
        const before = await usageOf(cells)
        expect((await askFor(2 * PER_HOST + 1)).status).toBe(202)

        const refused = await servers()
        expect(refused).toHaveLength(2 * PER_HOST + 1)
        for (const { id } of refused) {
          const { status, fault } = await showServer(cells.demo, id)
          expect([status, fault?.message]).toEqual([
            'ERROR',
            expect.stringMatching('No valid host'),
          ])
          expect(await cells.hostOf(id)).toBeNull()
          expect(await allocationsOf(cells, id)).toEqual({})
        }
        await expectNothing()
        for (const { id } of refused) await deleteServer(cells.demo, id)
        expect(await usageOf(cells)).toEqual(before)

        expect((await askFor(2 * PER_HOST)).status).toBe(202)
        const made = await servers()
        expect(made).toHaveLength(2 * PER_HOST)
        await expectSpread(made.map(({ id }) => id))
      },
      TEST_MS,
    )

    test(
      'of more than the quota leaves none is made at all',
      async () => {
        const before = await usageOf(cells)
        const { status, body } = await askFor(11)

        expect([status, JSON.stringify(body)]).toEqual([403, expect.stringContaining('Quota')])
        expect(await servers()).toEqual([])
        expect(await usageOf(cells)).toEqual(before)
        await expectNothing()
      },
      TEST_MS,
    )
  },
)
