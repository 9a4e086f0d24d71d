import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteServer, SERVERS } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { startLibvirtSite } from './libvirt-site.ts'
import { type NestedSite, startNestedSite } from './nested-site.ts'
import { whyNoGuests } from './requirements.ts'
import { type ServerCells, type Site, startServerCells } from './server-cells.ts'

// Goal: a QEMU guest has its disk in the cloud below that its server goes to, or is rebuilt in, and back; and its server is
// given to no simulated cell, which is said before anything is stopped.

const LIMIT_MS = 180_000
const TEST_MS = 500_000
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io']
/** A host of another cloud notes no changes, and takes none. */
const MOVED = {
  state: 'done',
  message: expect.stringMatching(/^Its disk was saved in one pass: .* while it was off\.$/),
}
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `a cell of a libvirt host, one of a cloud of libvirt hosts, and a simulated one${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let north: Site
    let south: NestedSite
    let imageRef: string

    beforeAll(async () => {
      const started = await startServerCells(owned, 3, LIMIT_MS)
      cloud = started.cloud
      cells = started.cells
      const { folder } = started
      north = await startLibvirtSite(owned, cloud, 'north', join(folder, 'north'))
      south = await startNestedSite(owned, cells, cloud, 'south', join(folder, 'below'))
      const size = { vcpus: '4', memory_mb: '4096', disk_gb: '40' }
      owned.use(await startDrivenHost(cloud, 'fake', size, undefined, cloud.cell('east')))
      imageRef = await cells.upload('blank', BLANK, Buffer.alloc(1024 ** 2))
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    test(
      'a server moves down into the cloud and back with its disk',
      async () => {
        const id = await cells.markedServer(north, { name: 'diver', imageRef }, 0xa5)
        await cells.on(id)

        expect(await cells.move(id, south)).toMatchObject(MOVED)
        expect(await cells.runsMarked(south, id, 0xa5)).toBe(true)
        await expect(north.isMarked(id, 0xa5)).rejects.toThrow('No such file')

        await south.mark(id, 0x3c)
        expect(await cells.move(id, north)).toMatchObject(MOVED)
        await cells.until(id, 'SHUTOFF')
        expect(await north.isMarked(id, 0x3c)).toBe(true)
        await cells.waitFor(
          'the cloud to let go',
          async () => (await south.serversBelow()).length === 0,
        )
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )

    test(
      'a real server goes to no simulated cell, and a simulated one to no real cell',
      async () => {
        const guest = await cells.markedServer(north, { name: 'guest', imageRef }, 0x22)
        await cells.on(guest)
        const { image } = cloud.catalog
        const { body } = await cells.demo.post<{ server: { id: string } }>(
          SERVERS,
          {
            server: {
              ...{ name: 'simulated', imageRef: image, networks: 'none' },
              flavorRef: cloud.catalog.tiny,
            },
          },
          { version: '2.37' },
        )
        const { id: simulated } = await cells.until(body.server.id, 'ACTIVE')

        for (const [status, text] of await cells.refusals(guest, 'east')) {
          expect(status).toBe(409)
          expect(text).toContain('is simulated; only images with property hypervisor_type=fake run')
        }
        for (const cell of ['north', 'south'])
          for (const [status, text] of await cells.refusals(simulated, cell)) {
            expect(status).toBe(409)
            expect(text).toContain("has no hypervisor of type 'fake'")
          }

        expect(await cells.runsMarked(north, guest, 0x22)).toBe(true)
        await cells.until(simulated, 'ACTIVE')
        for (const each of [guest, simulated]) await deleteServer(cells.demo, each)
      },
      TEST_MS,
    )

    test(
      'a server of the cloud below has its backups kept at the other cell, and those of a lost cell run below',
      async () => {
        const deep = await cells.markedServer(south, { name: 'deep', imageRef }, 0x66)
        await cells.protectAt(deep, north)
        await deleteServer(cells.demo, deep)
        const id = await cells.backedUpServer(north, south, { name: 'kept', imageRef }, 0xc3)

        await cells.lose(north, [id])
        expect(await cells.recover(north)).toMatchObject({ state: 'done', remaining: 0 })

        expect(await cells.runsMarked(south, id, 0xc3)).toBe(true)
        expect((await south.serversBelow()).map(({ name }) => name)).toEqual(['kept'])
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )
  },
)
