import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { act, deleteServer, SERVERS, showServer, untilSettled } from '../env/api/servers.ts'
import type { Cloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { WeirCommand } from '../env/weir-command.ts'
import { startLibvirtSite } from './libvirt-site.ts'
import { type NestedSite, startNestedSite } from './nested-site.ts'
import { whyNoGuests } from './requirements.ts'
import { type ServerCells, type Site, startServerCells } from './server-cells.ts'

// Goal: the servers of a cloud below that is lost run on a libvirt host, as they were and with the newest of their disks that is
// known; and when that cloud is back, where their guests ran on, it ends them.

const LIMIT_MS = 180_000
const TEST_MS = 600_000
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io']
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'
/** What of a server is not of the place where it runs. */
const KEPT = ['id', 'name', 'metadata', 'tags', 'created', 'flavor', 'description'] as const

describe.skipIf(why !== undefined)(
  `a cell of a libvirt host, and one of a cloud of libvirt hosts that is lost${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let north: Site
    let south: NestedSite
    let imageRef: string

    beforeAll(async () => {
      const started = await startServerCells(owned, 2, LIMIT_MS)
      cloud = started.cloud
      cells = started.cells
      north = await startLibvirtSite(owned, cloud, 'north', join(started.folder, 'north'))
      south = await startNestedSite(owned, cells, cloud, 'south', join(started.folder, 'below'))
      imageRef = await cells.upload('blank', BLANK, Buffer.alloc(1024 ** 2))
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    const describedAs = (name: string) => ({ name, imageRef, metadata: { role: name } })

    async function saved(id: string, name: string): Promise<string> {
      const request = { createImage: { name } }
      const { status, body } = await act(cells.demo, id, request, { version: '2.45' })
      expect(status, JSON.stringify(body)).toBe(202)
      const imageId = String(body['image_id'])
      await cells.waitFor(`image ${name}`, async () => {
        const path = `/image/v2/images/${imageId}`
        return (await cells.demo.get<{ status: string }>(path)).body.status === 'active'
      })
      await untilSettled(cloud, id)
      return imageId
    }

    async function kept(id: string): Promise<Readonly<Record<string, unknown>>> {
      const server = await showServer(cells.demo, id, '2.52')
      return Object.fromEntries(KEPT.map((field) => [field, server[field]]))
    }

    test(
      'its servers are built of replicas, snapshots and images, and it serves none of them when it is back',
      async () => {
        const plain = await cells.markedServer(south, describedAs('plain'), 0x11)
        const shot = await cells.markedServer(south, describedAs('shot'), 0x21)
        await saved(shot, 'older')
        await south.mark(shot, 0x22)
        const newest = await saved(shot, 'newest')
        await south.mark(shot, 0x23)
        const copied = await cells.backedUpServer(south, north, describedAs('copied'), 0x33)
        await south.mark(copied, 0x34)
        const ids = [plain, shot, copied]
        for (const id of ids) {
          const tags = { tags: ['of-the-south'] }
          expect(
            (await cells.demo.put(`${SERVERS}/${id}/tags`, tags, { version: '2.26' })).status,
          ).toBe(200)
          await cells.on(id)
        }
        const before = await Promise.all(ids.map(kept))
        expect(before[0]).toMatchObject({ metadata: { role: 'plain' }, tags: ['of-the-south'] })

        await cells.lose(south, ids)
        const weir = new WeirCommand(cloud, 'admin')
        const planned = await weir.json<readonly object[]>('cell recover south --dry-run')
        expect(planned).toHaveLength(3)
        expect(planned).toEqual(
          expect.arrayContaining([
            expect.objectContaining({ server_id: plain, source: 'image', image_id: imageRef }),
            expect.objectContaining({ server_id: shot, source: 'snapshot', image_id: newest }),
            expect.objectContaining({
              ...{ server_id: copied, source: 'snapshot', replica_cell: 'north' },
            }),
          ]),
        )
        expect(await weir.run('cell recover south --wait')).toMatchObject({
          ...{ code: 0, out: expect.stringMatching(/STATE +done/) },
        })

        const bytes = [0, 0x22, 0x33]
        for (const [nth, id] of ids.entries()) {
          expect(
            await cells.runsMarked(north, id, bytes[nth]!),
            before[nth]!['name'] as string,
          ).toBe(true)
          expect(await kept(id)).toEqual(before[nth])
          await north.mark(id, 0x40 + nth)
          await cells.on(id)
        }

        // Only the way to the cloud was cut: it runs them all.
        const left = await south.serversBelow()
        expect(left.map(({ name }) => name).toSorted()).toEqual(['copied', 'plain', 'shot'])
        await cells.comeBack(south)
        expect(await south.serversBelow()).toEqual([])
        for (const { id } of left)
          await expect(south.bottom.isMarked(id, 0x11)).rejects.toThrow('No such file')
        for (const [nth, id] of ids.entries())
          expect(await cells.runsMarked(north, id, 0x40 + nth)).toBe(true)

        // The cell takes new servers again.
        const later = await cells.markedServer(south, describedAs('later'), 0x55)
        await cells.on(later)
        expect(await cells.runsMarked(south, later, 0x55)).toBe(true)
        for (const id of [...ids, later]) await deleteServer(cells.demo, id)
        await expectInvariants(cloud)
      },
      TEST_MS,
    )
  },
)
