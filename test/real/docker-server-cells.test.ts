import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InstanceId } from '#common/ids.ts'
import { startDockerEngine } from '#deploy/docker-engine/docker-engine.ts'
import { guestFiles } from '#deploy/guest/guest-files.ts'
import { engineEndpoint } from '#drivers/docker/engine/endpoint.ts'
import { Engine } from '#drivers/docker/engine/engine.ts'
import { containerName } from '#drivers/docker/names.ts'
import { deleteServer } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { storeWritesDuring } from '../env/store-writes.ts'
import { startLibvirtSite } from './libvirt-site.ts'
import { whyNoGuests } from './requirements.ts'
import { type ServerCells, type Site, startServerCells } from './server-cells.ts'

// Goal: a container has its files in the cell of another engine that its server goes to, or is rebuilt in, and goes to no cell
// of another kind of host, which is said before anything is stopped.

const LIMIT_MS = 120_000
const TEST_MS = 400_000
const CALL_MS = 30_000
const COMMANDS = ['dockerd', 'containerd', 'runc', 'iptables', 'libvirtd', 'virsh', 'qemu-io']
/** A container's files have no disk format of their own in the Image API. */
const CONTAINER = { disk_format: 'raw', container_format: 'docker' }
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `two cells of a Docker engine each, and one of libvirt${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let north: Site
    let south: Site
    let east: Site
    let imageRef: string

    beforeAll(async () => {
      const started = await startServerCells(owned, 3, LIMIT_MS)
      cloud = started.cloud
      cells = started.cells
      const { folder } = started
      north = await startSite('north', folder)
      south = await startSite('south', folder)
      east = await startLibvirtSite(owned, cloud, 'east', join(folder, 'east'))
      imageRef = await cells.upload('tiny', CONTAINER, await guestFiles())
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    async function startSite(name: string, folder: string): Promise<Site> {
      const running = await startDockerEngine(join(folder, name))
      owned.defer(() => running.stop())
      const engine = new Engine(engineEndpoint(running))
      owned.use(engine)
      const { endpoint } = running
      const settings = { endpoint, vcpus: '4', memory_mb: '2048', disk_gb: '20' }
      const host = await startDrivenHost(cloud, 'docker', settings, undefined, cloud.cell(name))
      owned.use(host)
      const files = (id: string) => `/containers/${containerName(id as InstanceId)}/archive`
      const ask = (path: string) => ({
        query: { path },
        signal: AbortSignal.timeout(CALL_MS),
      })
      return {
        name,
        host,
        mark: async (id, byte) => {
          const archive = pack()
          archive.entry({ name: 'mark' }, Buffer.alloc(512, byte))
          archive.finalize()
          const request = { ...ask('/'), archive: archive as unknown as Readable }
          await engine.call('PUT', files(id), request)
        },
        isMarked: async (id, byte) => {
          const content = await buffer(await engine.open('GET', files(id), ask('/mark')))
          return content.includes(Buffer.alloc(512, byte))
        },
        end: () => running.stop(),
      }
    }

    test(
      'a server moves to the other engine and back with its files',
      async () => {
        const id = await cells.markedServer(north, { name: 'roaming', imageRef }, 0xa5)
        await cells.on(id)

        const written = await storeWritesDuring(cloud, async () => {
          expect(await cells.move(id, south)).toMatchObject({ state: 'done' })
        })

        expect(written).toEqual([])
        expect(await cells.runsMarked(south, id, 0xa5)).toBe(true)
        await expect(north.isMarked(id, 0xa5)).rejects.toMatchObject({ kind: 'not-found' })

        await south.mark(id, 0x3c)
        expect(await cells.move(id, north)).toMatchObject({ state: 'done' })
        await cells.until(id, 'SHUTOFF')
        expect(await north.isMarked(id, 0x3c)).toBe(true)
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )

    test(
      'a server goes to no cell that cannot use its disk, and runs on',
      async () => {
        const id = await cells.markedServer(north, { name: 'container', imageRef }, 0x11)
        await cells.on(id)
        const blank = await cells.upload('blank', BLANK, Buffer.alloc(1024 ** 2))
        const guest = await cells.markedServer(east, { name: 'guest', imageRef: blank }, 0x22)
        await cells.on(guest)

        for (const [status, body] of await cells.refusals(id, 'east')) {
          expect(status).toBe(409)
          expect(body).toContain("cannot use images of format 'docker'")
        }
        for (const [status, body] of await cells.refusals(guest, 'north')) {
          expect(status).toBe(409)
          expect(body).toContain("cannot use images of format 'raw'")
        }

        expect(await cells.runsMarked(north, id, 0x11)).toBe(true)
        expect(await cells.runsMarked(east, guest, 0x22)).toBe(true)
        for (const each of [id, guest]) await deleteServer(cells.demo, each)
      },
      TEST_MS,
    )

    test(
      'the servers of a lost cell run on the other engine with the files of their newest backups',
      async () => {
        const id = await cells.backedUpServer(north, south, { name: 'kept', imageRef }, 0xc3)

        await cells.lose(north, [id])
        expect(await cells.recover(north)).toMatchObject({ state: 'done', remaining: 0 })

        expect(await cells.runsMarked(south, id, 0xc3)).toBe(true)
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )
  },
)
