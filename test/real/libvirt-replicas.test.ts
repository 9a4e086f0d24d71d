import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { findBackupParts } from '#gateway/db/backup-parts.ts'
import { findImage } from '#gateway/db/images.ts'
import { deleteServer } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { CountingWire } from '../env/counting-wire.ts'
import { isFullRun } from '../env/full-run.ts'
import { guestWrites } from './disk-content.ts'
import { type LibvirtSite, startLibvirtSite } from './libvirt-site.ts'
import { whyNoGuests } from './requirements.ts'
import { ServerCells } from './server-cells.ts'

// Goal: of a protected server that runs, each backup after the first carries what has changed, to the gateways and to the other
// cell, and is the disk to the last byte; so is the server that is rebuilt from it.

const LIMIT_MS = 300_000
const TEST_MS = 900_000
const PROGRAM_MS = 120_000
const MIB = 2 ** 20
/** As much of a disk of 1 GB is in use. */
const USED_BYTES = 64 * MIB
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'qemu-io']
const BLANK = { disk_format: 'raw', container_format: 'bare' }
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'
const program = async (name: string, ...args: readonly string[]) =>
  (await promisify(execFile)(name, args, { timeout: PROGRAM_MS })).stdout

describe.skipIf(why !== undefined)(
  `backups of a server at another cell${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let cells: ServerCells
    let north: LibvirtSite
    let south: LibvirtSite
    let folder: string
    /** Between the gateway and the caches of the cells. */
    let link: CountingWire

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-lr-'))
      owned.defer(() => rmSync(folder, { recursive: true, force: true }))
      link = owned.use(await CountingWire.open())
      const size = { gateways: 1, cells: 2, processesPerCell: 1, hostsPerCell: 0 }
      const cell = {
        CELL_IMAGE_URL: `${link.url}/image`,
        CELL_IMAGE_CACHE_DIRECTORY: join(folder, 'cache'),
        // Guests without a system do not shut down by themselves.
        CELL_STOP_GRACE_MS: '1000',
      }
      cloud = owned.use(await startCloud({ ...size, cell }))
      link.to = cloud.endpoints[0]
      cells = new ServerCells(cloud, LIMIT_MS)
      north = await startLibvirtSite(owned, cloud, 'north', join(folder, 'north'))
      south = await startLibvirtSite(owned, cloud, 'south', join(folder, 'south'))
    }, TEST_MS)
    afterAll(() => owned.disposeAsync(), TEST_MS)

    /** A server that runs, whose disk has content that no compression makes smaller. */
    async function usedServer(): Promise<string> {
      const imageRef = await cells.upload('blank', BLANK, Buffer.alloc(MIB))
      const id = await cells.markedServer(north, { name: 'used', imageRef }, 0x11)
      const file = join(folder, 'content')
      writeFileSync(file, randomBytes(USED_BYTES))
      const command = `write -s ${file} 0 ${USED_BYTES}`
      await program('qemu-io', '-f', 'qcow2', '-c', command, north.diskOf(id))
      await cells.on(id)
      return id
    }

    /** The backup, and what it took; `sent`: from its host, `carried`: to the other cell. */
    async function measured(backUp: () => Promise<string>) {
      const before = link.bytes
      const began = performance.now()
      const id = await backUp()
      const seconds = (performance.now() - began) / 1_000
      await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
      const { content } = (await findImage(db, id))!
      const part = (await findBackupParts(db, [id])).get(id)
      const sent = part?.changes.sizeBytes ?? content!.sizeBytes
      const carried = link.bytes - before
      const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`
      process.stdout.write(
        `${part === undefined ? 'A whole' : 'An incremental'} backup of ${mib(content!.sizeBytes)} at the other cell ` +
          `after ${seconds.toFixed(1)} s: ${mib(sent)} from its host, ${mib(carried)} to the cell\n`,
      )
      return { id, isWhole: part === undefined, sent, carried, sha256: content!.sha256 }
    }

    const write = async (id: string, pattern: number, where: string) =>
      expect(await guestWrites(north.libvirt, id, { pattern, where })).toBe(true)

    /** Fails unless the image, as its owner downloads it and as the other cell has it, is the disk in the file. */
    async function expectSame(backup: { id: string; sha256: string }, disk: string) {
      const path = join(folder, `download-${backup.id}`)
      const { endpoints } = cloud
      const response = await fetch(`${endpoints[0]}/image/v2/images/${backup.id}/file`, {
        headers: { 'x-auth-token': await cells.demo.token() },
      })
      expect(response.status).toBe(200)
      await pipeline(Readable.fromWeb(response.body as never), createWriteStream(path))
      const cached = join(folder, 'cache', 'south-process-1', backup.sha256)
      for (const image of [path, cached]) {
        expect(await program('qemu-img', 'compare', image, disk)).toContain('Images are identical')
        expect(await program('qemu-img', 'check', '-f', 'qcow2', image)).toContain('No errors')
      }
    }

    test(
      'of a disk with few changes little is sent, and nothing is lost',
      async () => {
        const id = await usedServer()
        const first = await measured(() => cells.protectAt(id, south))
        expect(first).toMatchObject({ isWhole: true })
        await write(id, 0x21, '0 64k')
        await write(id, 0x22, '300M 3M')
        const second = await measured(() => cells.backUpAgain(id, first.id))
        await write(id, 0x23, '301M 1M')
        await write(id, 0x24, '1023M 1M')
        const third = await measured(() => cells.backUpAgain(id, second.id))

        for (const backup of [second, third]) {
          expect(backup.isWhole).toBe(false)
          expect(backup.sent).toBeLessThan(16 * MIB)
          expect(backup.carried).toBeLessThan(16 * MIB)
        }
        expect(first.sent).toBeGreaterThan(USED_BYTES)
        await cells.off(id)
        await expectSame(third, north.diskOf(id))
        const disk = join(folder, 'disk')
        await copyFile(north.diskOf(id), disk)
        await program('qemu-img', 'rebase', '-f', 'qcow2', '-b', '', disk)

        // The host has lost what it noted: nothing but a whole copy is safe.
        const bitmap = `weir-backup-${third.id}`
        await program('qemu-img', 'bitmap', '--remove', '-f', 'qcow2', north.diskOf(id), bitmap)
        const fourth = await measured(() => cells.backUpAgain(id, third.id))
        expect(fourth.isWhole).toBe(true)
        await expectSame(fourth, disk)
        const newest = await measured(() => cells.backUpAgain(id, fourth.id))
        expect(newest.isWhole).toBe(false)
        await expectSame(newest, disk)

        await cells.lose(north, [id])
        expect(await cells.recover(north)).toMatchObject({ state: 'done', remaining: 0 })
        await cells.until(id, 'ACTIVE')
        expect(await cells.hostOf(id)).toBe(south.host.name)
        await cells.off(id)
        const compared = await program('qemu-img', 'compare', south.diskOf(id), disk)
        expect(compared).toContain('Images are identical')
        await deleteServer(cells.demo, id)
      },
      TEST_MS,
    )
  },
)
