import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HostId, VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Owner } from '#drivers/driver.ts'
import { CONTENT_AT } from '#drivers/libvirt/volumes/iscsi/lun-label.ts'
import type { ApiClient } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { type IscsiTarget, isTargetHere, startTarget } from '../env/iscsi/target.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { giveIscsiPool, lunContent } from './libvirt-iscsi-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a volume goes from an iSCSI LUN of one cell to a folder of another, and back to a LUN, with every byte.

const MIB = 1024 ** 2
const GIB = 1024 * MIB
const VOLUMES = '/volume/v3/volumes'
const LIMIT_MS = 180_000
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'dnsmasq']
const why =
  isFullRun && isTargetHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no target of iSCSI'
const poll = { timeout: LIMIT_MS, interval: 500 }
const program = promisify(execFile)
const sumOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe.skipIf(why !== undefined)(
  `volumes of a cell with iSCSI LUNs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let target: IscsiTarget
    let folderHost: string

    beforeAll(async () => {
      const sizes = [GIB + MIB, GIB + MIB]
      target = owned.use(await startTarget({ sizes }))
      const withLuns = owned.use(await startLibvirtHarness('lunn'))
      const withFolder = owned.use(await startLibvirtHarness('luns'))
      owned.use(await giveIscsiPool(withLuns, target, 'iqn.2026-01.org.example:host'))
      const processes = { gateways: 1, cells: 2, processesPerCell: 1, hostsPerCell: 0 }
      cloud = owned.use(await startCloud(processes))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      const size = { virt_type: 'qemu', vcpus: '4', memory_mb: '2048', disk_gb: '20' }
      const start = (cell: string, settings: Readonly<Record<string, string>>) =>
        startDrivenHost(cloud, 'libvirt', { ...size, ...settings }, undefined, cloud.cell(cell))
      owned.use(await start('north', { uri: withLuns.host.uri, volume_pools: 'luns' }))
      const folder = owned.use(await start('south', { uri: withFolder.host.uri }))
      folderHost = folder.name
    }, 300_000)
    afterAll(() => owned.disposeAsync(), 60_000)

    async function move(id: string, cell: string): Promise<void> {
      // What is left of it in a cell that it was in before may still have to go.
      const ask = () => admin.post<Operation>(`/federation/v1/volumes/${id}/move`, { cell })
      const begun = await waitFor(
        'the move',
        async () => {
          const { status, body } = await ask()
          return status === 202 ? body : undefined
        },
        LIMIT_MS,
      )
      const ended = await endOfOperation(admin, begun.id, LIMIT_MS)
      expect(ended).toMatchObject({ state: 'done', message: null })
    }

    test('a volume has every byte in a folder of another cell, and on a LUN again', async () => {
      const asked = { volume: { size: 1, name: 'far', availability_zone: 'north' } }
      const answer = await demo.post<{ volume: { id: VolumeId } }>(VOLUMES, asked)
      const { id } = answer.body.volume
      const statusOf = async () =>
        (await demo.get<{ volume: { status: string } }>(`${VOLUMES}/${id}`)).body.volume.status
      await expect.poll(statusOf, poll).toBe('available')
      const { id: cellId } = cloud.cell('north')
      const luns = lunContent(target, { cellId, hostId: '' as HostId } as Owner)
      const ref = { store: '', id }
      const { path } = await luns.lunOf(id)
      await luns.put(path, CONTENT_AT + GIB / 2, randomBytes(4 * MIB))
      await luns.put(path, CONTENT_AT + GIB - MIB, randomBytes(MIB))
      const sum = sumOf(await luns.read(ref))

      await move(id, 'south')

      const pattern = join(cloud.foundation.directory, folderHost, '**', `weir-*-${id}`)
      const [file] = globSync(pattern)
      const raw = join(cloud.foundation.directory, 'far.raw')
      await program('qemu-img', ['convert', '-O', 'raw', file!, raw], { timeout: LIMIT_MS })
      expect(sumOf(await readFile(raw))).toBe(sum)
      await expect.poll(() => luns.leftovers(id), poll).toEqual([])

      await move(id, 'north')

      expect(sumOf(await luns.read(ref))).toBe(sum)
      await expect.poll(() => globSync(pattern), poll).toEqual([])
      await demo.delete(`${VOLUMES}/${id}`)
      await expect.poll(async () => (await demo.get(`${VOLUMES}/${id}`)).status, poll).toBe(404)
      await expectInvariants(cloud)
    }, 600_000)
  },
)
