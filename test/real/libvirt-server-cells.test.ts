import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { type RunningLibvirtHost, startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { serverProtections } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  untilSettled,
  untilStatus,
} from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { storeWritesDuring } from '../env/store-writes.ts'
import { checksum, guestWrites } from './disk-content.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a QEMU guest has its disk and its volumes in the cell that its server goes to, whether it is moved there, or its own cell is lost.

const ROOT = '/federation/v1'
const LIMIT_MS = 120_000
const TEST_MS = 400_000
const PROGRAM_MS = 60_000
/** Past what the image has. */
const WHERE = '700M 1M'
const MIB = 2 ** 20
const GIB = 2 ** 30
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'qemu-io']
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'
const program = promisify(execFile)

interface Protection {
  readonly last_image_id: string | null
  readonly replica: { readonly image_id: string | null; readonly error: string | null } | null
}

/** A cell's one host. */
interface Site {
  readonly name: string
  readonly libvirt: RunningLibvirtHost
  readonly host: DrivenHost
}

describe.skipIf(why !== undefined)(
  `two cells of a libvirt host each${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let north: Site
    let south: Site
    let imageRef: string

    beforeAll(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'weir-lc-'))
      owned.defer(() => rmSync(folder, { recursive: true, force: true }))
      const size = { gateways: 1, cells: 2, processesPerCell: 1, hostsPerCell: 0 }
      // Guests without a system do not shut down by themselves.
      const cell = {
        CELL_IMAGE_CACHE_DIRECTORY: join(folder, 'cache'),
        CELL_STOP_GRACE_MS: '1000',
      }
      cloud = owned.use(await startCloud({ ...size, cell }))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      north = await startSite('north', folder)
      south = await startSite('south', folder)
      imageRef = await upload()
    }, TEST_MS)

    afterAll(() => owned.disposeAsync(), TEST_MS)

    async function startSite(name: string, folder: string): Promise<Site> {
      const id = randomUUID()
      const directory = join(folder, name)
      const libvirt = await startLibvirtHost({ directory, name: `libvirt-${id.slice(0, 8)}` })
      owned.defer(() => libvirt.stop())
      const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20' }
      const settings = { uri: libvirt.uri, virt_type: 'qemu', ...size }
      const host = await startDrivenHost(cloud, 'libvirt', settings, id, cloud.cell(name))
      owned.use(host)
      return { name, libvirt, host }
    }

    /** A disk without a system: the fastest guest there is. */
    async function upload(): Promise<string> {
      const draft = { name: 'blank', disk_format: 'raw', container_format: 'bare' }
      const { body } = await demo.post<{ id: string }>('/image/v2/images', draft)
      await demo.call('PUT', `/image/v2/images/${body.id}/file`, undefined, {
        raw: Buffer.alloc(MIB),
        headers: { 'content-type': 'application/octet-stream' },
      })
      return body.id
    }

    const waitFor = <T>(what: string, probe: () => Promise<T>) =>
      waitForWithin(what, probe, LIMIT_MS)
    const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
    const cordon = ({ host }: Site, is_cordoned: boolean) =>
      admin.call('PATCH', `${ROOT}/hosts/${host.id}`, { is_cordoned })
    const folderOf = ({ host }: Site, id: string) =>
      join(cloud.foundation.directory, host.name, 'instances', id)
    const domainsOf = async ({ libvirt }: Site) =>
      (await libvirt.run('virsh', ['-q', 'list', '--all', '--name'], { timeoutMs: 20_000 })).stdout

    async function qemuIo(site: Site, id: string, command: string): Promise<string> {
      const file = join(folderOf(site, id), 'root.qcow2')
      const { stdout } = await program('qemu-io', ['-f', 'qcow2', '-c', command, file], {
        timeout: PROGRAM_MS,
      })
      return stdout
    }

    /** A server of the cell that is off, with something on its disk that its image has not. */
    async function markedServer(site: Site, name: string, pattern: string): Promise<string> {
      const id = await serverIn(site, name)
      await off(id)
      expect(await qemuIo(site, id, `write -P ${pattern} ${WHERE}`)).toContain('wrote 1048576')
      return id
    }

    async function serverIn(site: Site, name: string): Promise<string> {
      const other = site === north ? south : north
      await cordon(other, true)
      const request = { name, imageRef, networks: 'none', flavorRef: cloud.catalog.tiny }
      const { status, body } = await demo.post<{ server: { id: string } }>(
        SERVERS,
        { server: request },
        { version: '2.37' },
      )
      expect(status).toBe(202)
      const { id } = await untilStatus(demo, body.server.id, 'ACTIVE', LIMIT_MS)
      await cordon(other, false)
      expect(await hostOf(id)).toBe(site.host.name)
      return id
    }

    async function off(id: string): Promise<void> {
      await act(demo, id, { 'os-stop': null })
      await untilStatus(demo, id, 'SHUTOFF', LIMIT_MS)
    }

    async function on(id: string): Promise<void> {
      await act(demo, id, { 'os-start': null })
      await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
    }

    /** The server runs there, with that on its disk, once it has been stopped to look. */
    async function expectMarked(site: Site, id: string, pattern: string): Promise<void> {
      expect(await hostOf(id)).toBe(site.host.name)
      expect(await domainsOf(site)).toContain(id)
      await off(id)
      const read = await qemuIo(site, id, `read -P ${pattern} ${WHERE}`)
      expect(read).toContain('read 1048576')
      expect(read).not.toContain('failed')
    }

    test(
      'a server that runs has its disk in the other cell, and nothing is left in the former',
      async () => {
        const id = await markedServer(north, 'roaming', '0xa5')
        await on(id)

        const written = await storeWritesDuring(cloud, () => moveToSouth(id).then(endOfMove))

        expect(written).toEqual([])
        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        await expectMarked(south, id, '0xa5')
        expect(await domainsOf(north)).not.toContain(id)
        expect(existsSync(folderOf(north, id))).toBe(false)
        await deleteServer(demo, id)
      },
      TEST_MS,
    )

    const part = randomBytes(64 * MIB)
    /** A server that is off, whose whole disk of 1 GB has content that no compression makes smaller. */
    async function fullServer(name: string): Promise<string> {
      const id = await serverIn(north, name)
      await off(id)
      const file = join(cloud.foundation.directory, 'part')
      writeFileSync(file, part)
      for (let at = 0; at < GIB; at += part.length)
        expect(await qemuIo(north, id, `write -s ${file} ${at} ${part.length}`)).toContain('wrote')
      return id
    }

    const runsIn = async ({ libvirt }: Site, id: string) =>
      (await libvirt.run('virsh', ['-q', 'list', '--name'], { timeoutMs: 20_000 })).stdout.includes(
        id,
      )

    /** Moves the server to the south, and tells for how many seconds it had no guest, and what that wrote last. */
    async function movedWhileWriting(id: string) {
      const operation = await moveToSouth(id)
      let writes = 0
      let seenAt = performance.now()
      while (await guestWrites(north.libvirt, id, { pattern: (writes % 250) + 1, where: WHERE })) {
        writes += 1
        seenAt = performance.now()
      }
      await expect.poll(() => runsIn(south, id), { timeout: TEST_MS, interval: 50 }).toBe(true)
      const seconds = (performance.now() - seenAt) / 1_000
      const message = await endOfMove(operation)
      return { seconds, message, writes, pattern: ((writes - 1) % 250) + 1 }
    }

    async function moveToSouth(id: string): Promise<Operation> {
      const path = `${ROOT}/servers/${id}/move`
      return (await admin.post<Operation>(path, { cell: south.name })).body
    }

    async function endOfMove({ id }: Operation): Promise<string | null> {
      const { state, message } = await endOfOperation(admin, id, 3 * TEST_MS)
      expect(state).toBe('done')
      return message
    }

    const tell = (line: string) => process.stdout.write(`${line}\n`)

    test(
      'a full disk of 1 GB that its guest goes on writing is there to the last byte, and the guest is off for seconds',
      async () => {
        const id = await fullServer('busy')
        await on(id)

        const twoPasses = await movedWhileWriting(id)

        tell(`Without a guest for ${twoPasses.seconds.toFixed(1)} s. ${twoPasses.message}`)
        expect(twoPasses.message).toContain('in two passes')
        expect(twoPasses.writes).toBeGreaterThan(2)
        await off(id)
        const expected = join(cloud.foundation.directory, 'expected.raw')
        const content = Buffer.concat(Array.from({ length: GIB / part.length }, () => part))
        content.fill(twoPasses.pattern, 700 * MIB, 701 * MIB)
        writeFileSync(expected, content)
        const file = join(folderOf(south, id), 'root.qcow2')
        const compared = ['compare', '-f', 'raw', '-F', 'qcow2', expected, file]
        const { stdout } = await program('qemu-img', compared, { timeout: PROGRAM_MS })
        expect(stdout).toContain('Images are identical')
        await deleteServer(demo, id)
      },
      4 * TEST_MS,
    )

    test(
      'a full disk of 1 GB is saved in one pass, as one that runs would be without a second, where its guest is off',
      async () => {
        const other = await fullServer('idle')
        const began = performance.now()
        const onePass = await endOfMove(await moveToSouth(other))
        const seconds = (performance.now() - began) / 1_000
        tell(`Moved within ${seconds.toFixed(1)} s, without a guest. ${onePass}`)
        expect(onePass).toContain('in one pass')
        await deleteServer(demo, other)
      },
      4 * TEST_MS,
    )

    test(
      'a server that starts from a volume and has another has every byte of both in the other cell',
      async () => {
        const volumes = '/volume/v3/volumes'
        const made = async (name: string, fields: object) => {
          const where = { size: 1, availability_zone: north.name }
          const { status, body } = await demo.post<{ volume: { id: string } }>(volumes, {
            volume: { name, ...where, ...fields },
          })
          expect(status, JSON.stringify(body)).toBe(202)
          const path = `${volumes}/${body.volume.id}`
          await waitFor(name, async () => {
            const answer = await demo.get<{ volume: { status: string } }>(path)
            return answer.body.volume.status === 'available'
          })
          return body.volume.id
        }
        const [root, data] = [await made('root', { imageRef }), await made('data', {})]
        const disk = { source_type: 'volume', destination_type: 'volume' }
        const request = {
          ...{ name: 'laden', networks: 'none', flavorRef: cloud.catalog.tiny },
          block_device_mapping_v2: [
            { ...disk, uuid: root, boot_index: 0 },
            { ...disk, uuid: data, boot_index: -1 },
          ],
        }
        const { body } = await demo.post<{ server: { id: string } }>(
          SERVERS,
          { server: request },
          { version: '2.37' },
        )
        const { id } = await untilStatus(demo, body.server.id, 'ACTIVE', LIMIT_MS)
        expect(await hostOf(id)).toBe(north.host.name)
        await off(id)
        const ends = { [root]: '0xa5', [data]: '0x5a' }
        const fileIn = ({ host }: Site, volume: string) =>
          globSync(join(cloud.foundation.directory, host.name, '**', `weir-*-${volume}`))[0]
        const sums = new Map<string, string>()
        for (const [volume, pattern] of Object.entries(ends)) {
          const file = fileIn(north, volume)!
          const { format } = JSON.parse(
            (await program('qemu-img', ['info', '--output=json', file])).stdout,
          ) as { readonly format: string }
          await program('qemu-io', ['-f', format, '-c', `write -P ${pattern} 1000M 24M`, file])
          sums.set(volume, await checksum(file))
        }
        expect(new Set(sums.values()).size).toBe(2)
        await on(id)

        const move = await admin.post<Operation>(`${ROOT}/servers/${id}/move`, {
          cell: south.name,
        })
        expect(await endOfOperation(admin, move.body.id, LIMIT_MS)).toMatchObject({
          ...{ state: 'done', message: null },
        })

        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        expect(await hostOf(id)).toBe(south.host.name)
        expect(await domainsOf(south)).toContain(id)
        const { stdout: disks } = await south.libvirt.run('virsh', ['domblklist', id], {
          timeoutMs: 20_000,
        })
        for (const volume of [root, data]) expect(disks).toContain(fileIn(south, volume))
        await off(id)
        for (const volume of [root, data]) {
          expect(await checksum(fileIn(south, volume)!)).toBe(sums.get(volume))
          await waitFor(
            'nothing in the former cell',
            async () => fileIn(north, volume) === undefined,
          )
        }
        await deleteServer(demo, id)
        for (const volume of [root, data]) await demo.delete(`${volumes}/${volume}`)
        await waitFor('no volume', async () => fileIn(south, data) === undefined)
      },
      TEST_MS,
    )

    test(
      'servers of a cell that is lost have their disks elsewhere, as the newest backup that is kept there has them',
      async () => {
        const id = await markedServer(north, 'kept', '0x5a')
        const path = `${ROOT}/servers/${id}/protection`
        const { status } = await admin.put(path, { every_s: 3600, keep: 2, to_cell: south.name })
        expect(status).toBe(200)
        const replicated = (former: string | null) =>
          waitFor('the replica', async () => {
            const { last_image_id, replica } = (await demo.get<Protection>(path)).body
            const isNewest = last_image_id !== former && replica?.image_id === last_image_id
            return isNewest && replica?.error === null ? last_image_id : undefined
          })
        const first = await replicated(null)
        await untilSettled(cloud, id)
        await qemuIo(north, id, `write -P 0xc3 ${WHERE}`)
        {
          // As when the time of the schedule has passed.
          await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
          await db.orm
            .update(serverProtections)
            .set({ nextAt: sql`now(3)` })
            .where(eq(serverProtections.serverId, id))
        }
        const newest = await replicated(first)
        expect(newest).not.toBe(first)
        await untilSettled(cloud, id)

        await north.host.stop()
        await north.libvirt.stop()
        for (const process of cloud.cell(north.name).processes) await process.kill()
        const cell = `${ROOT}/cells/${north.name}`
        await waitFor('the cell to be unreachable', async () => {
          return (await admin.get<{ is_alive: boolean }>(cell)).body.is_alive === false
        })
        await admin.post(`${cell}/lost`, { statement: 'Its power was cut.' })
        await untilStatus(demo, id, 'ERROR', LIMIT_MS)
        const { body } = await admin.post<Operation>(`${cell}/recovery`, {})
        const operation = await endOfOperation(admin, body.id, LIMIT_MS)

        expect(operation).toMatchObject({ state: 'done', remaining: 0 })
        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        await expectMarked(south, id, '0xc3')
        await deleteServer(demo, id)
      },
      TEST_MS,
    )
  },
)
