import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteServer, SERVERS } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { startLibvirtSite } from './libvirt-site.ts'
import { whyNoGuests } from './requirements.ts'
import { ServerCells, type Site } from './server-cells.ts'

// Goal: a QEMU guest has its disk in the cloud below that its server goes to, or is rebuilt in, and back; and its server is
// given to no simulated cell, which is said before anything is stopped.

const LIMIT_MS = 180_000
const TEST_MS = 500_000
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io']
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `a cell of a libvirt host, one of a cloud of libvirt hosts, and a simulated one${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let below: Cloud
    let cells: ServerCells
    let north: Site
    let south: Site
    /** What runs the guests of the southern cell. */
    let bottom: Site
    let imageRef: string

    beforeAll(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'weir-nc-'))
      owned.defer(() => rmSync(folder, { recursive: true, force: true }))
      const bare = { gateways: 1, processesPerCell: 1, hostsPerCell: 0 }
      below = owned.use(await startCloud({ ...bare, cells: 1 }))
      bottom = await startLibvirtSite(owned, below, 'north', join(folder, 'below'))
      const cell = { CELL_IMAGE_CACHE_DIRECTORY: join(folder, 'cache') }
      cloud = owned.use(await startCloud({ ...bare, cells: 3, cell }))
      cells = new ServerCells(cloud, LIMIT_MS)
      north = await startLibvirtSite(owned, cloud, 'north', join(folder, 'north'))
      south = await startNestedSite()
      const size = { vcpus: '4', memory_mb: '4096', disk_gb: '40' }
      owned.use(await startDrivenHost(cloud, 'fake', size, undefined, cloud.cell('east')))
      imageRef = await cells.upload('blank', BLANK, Buffer.alloc(1024 ** 2))
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    async function startNestedSite(): Promise<Site> {
      const settings = { ...nestedSettingsFor(below), hypervisor_type: 'QEMU' }
      const host = await startDrivenHost(cloud, 'nested', settings, undefined, cloud.cell('south'))
      owned.use(host)
      return {
        name: 'south',
        host,
        mark: async (id, byte) => bottom.mark(await idBelow(id), byte),
        isMarked: async (id, byte) => bottom.isMarked(await idBelow(id), byte),
        end: async () => {},
      }
    }

    /** The cloud below has a server of the same name. */
    async function idBelow(id: string): Promise<string> {
      const { body } = await cells.admin.get<{ server: { name: string } }>(`${SERVERS}/${id}`)
      const found = await serversBelow()
      return found.find(({ name }) => name === body.server.name)!.id
    }

    const serversBelow = async () =>
      (await below.as('demo').get<{ servers: { id: string; name: string }[] }>(SERVERS)).body
        .servers

    test(
      'a server moves down into the cloud and back with its disk',
      async () => {
        const id = await cells.markedServer(north, { name: 'diver', imageRef }, 0xa5)
        await cells.on(id)

        expect(await cells.move(id, south)).toMatchObject({ state: 'done', message: null })
        expect(await cells.runsMarked(south, id, 0xa5)).toBe(true)
        await expect(north.isMarked(id, 0xa5)).rejects.toThrow('No such file')

        await south.mark(id, 0x3c)
        expect(await cells.move(id, north)).toMatchObject({ state: 'done', message: null })
        await cells.until(id, 'SHUTOFF')
        expect(await north.isMarked(id, 0x3c)).toBe(true)
        await cells.waitFor('the cloud to let go', async () => (await serversBelow()).length === 0)
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
        const id = await cells.markedServer(north, { name: 'kept', imageRef }, 0x5a)
        const first = await cells.protectAt(id, south)
        await north.mark(id, 0xc3)
        expect(await cells.backUpAgain(id, first)).not.toBe(first)

        await cells.lose(north, [id])
        expect(await cells.recover(north)).toMatchObject({ state: 'done', remaining: 0 })

        expect(await cells.runsMarked(south, id, 0xc3)).toBe(true)
        expect((await serversBelow()).map(({ name }) => name)).toEqual(['kept'])
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )
  },
)
