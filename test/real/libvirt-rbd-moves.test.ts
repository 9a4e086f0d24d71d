import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { run } from '#drivers/run.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import { BLOCK_STORAGE as ROOT, showStored } from '../env/api/volumes.ts'
import { type CephRbd, isCephRbdHere, startCephRbd } from '../env/ceph/rbd.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { giveRbdPool } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'
import {
  cephContent,
  expectSameContent,
  folderContent,
  type StoreContent,
} from './store-content.ts'

// Goal: a volume goes from a folder of one host into a pool of Ceph that another host reaches, to a folder there, and back, with
// every byte, encrypted or not, and nothing is left where it was.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-img', 'qemu-io']
const COMMAND_MS = 60_000
/** What is encrypted is nowhere empty, so a whole GiB of it travels. */
const LIMIT_MS = 900_000
const poll = { timeout: LIMIT_MS, interval: 1_000 }
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'
/** The folder of the first host, and the pool of Ceph and the folder of the second. */
const STORES = ['north', 'ceph', 'south'] as const
type StoreName = (typeof STORES)[number]

describe.skipIf(why !== undefined)(
  `volumes that move into a Ceph and out of it${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    const hosts: DrivenHost[] = []
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let contents: Readonly<Record<StoreName, StoreContent>>
    let image: { readonly id: string; readonly path: string; readonly format: 'qcow2' }

    beforeAll(async () => {
      const ceph = owned.use(await startCephRbd())
      const processes = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
      // Volumes take room as they are written.
      const cell = { CELL_STORE_ALLOCATION_RATIO: '4' }
      cloud = owned.use(await startCloud({ ...processes, cell }))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      const north = await startHost('north')
      const south = await startHost('south', ceph)
      const { id: cellId } = cloud.cells[0]!
      contents = {
        north: folderContent(north, cellId),
        ceph: cephContent(ceph, cellId),
        south: folderContent(south, cellId),
      }
      await waitFor(
        'all stores',
        async () => {
          const path = `${ROOT}/scheduler-stats/get_pools`
          return (await admin.get<{ pools: unknown[] }>(path)).body.pools.length === STORES.length
        },
        LIMIT_MS,
      )
      for (const store of STORES) await typeOf(store, { volume_backend_name: store })
      await typeOf('any', {})
      const { id } = await typeOf('sealed', {})
      const encryption = { provider: 'luks', control_location: 'front-end', key_size: 256 }
      await admin.post(`${ROOT}/types/${id}/encryption`, { encryption })
      image = await writtenImage()
    }, 400_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    /** Returns the folder of its pool, which has the host's name. */
    async function startHost(name: StoreName, ceph?: CephRbd): Promise<string> {
      const libvirt = owned.use(await startLibvirtHarness(name))
      const pool = join(libvirt.directory, 'pool')
      await mkdir(pool, { mode: 0o711 })
      await libvirt.virsh('pool-define-as', name, 'dir', '--target', pool)
      if (ceph !== undefined) owned.use(await giveRbdPool(libvirt, ceph))
      const settings = {
        ...{ uri: libvirt.host.uri, vcpus: '2', memory_mb: '1024', disk_gb: '20' },
        ...{ virt_type: 'qemu', volume_pools: ceph === undefined ? name : `${name},ceph` },
        ...(ceph && { ceph_programs: ceph.programs }),
      }
      hosts.push(owned.use(await startDrivenHost(cloud, 'libvirt', settings)))
      return pool
    }

    async function typeOf(name: string, extra_specs: object): Promise<{ readonly id: string }> {
      const body = { volume_type: { name, extra_specs } }
      const answer = await admin.post<Loose>(`${ROOT}/types`, body)
      return answer.body['volume_type'] as { readonly id: string }
    }

    /** An image of the size of a volume, with something at its start, in its middle and at its very end. */
    async function writtenImage() {
      const path = join(cloud.foundation.directory, 'written.qcow2')
      const limit = { timeoutMs: COMMAND_MS }
      await run('qemu-img', ['create', '-f', 'qcow2', path, '1G'], limit)
      for (const [pattern, at] of [
        ['0xa5', '0'],
        ['0x5a', '600M'],
        ['0xc3', '1023M'],
      ])
        await run('qemu-io', ['-f', 'qcow2', '-c', `write -P ${pattern} ${at} 1M`, path], limit)
      const draft = { name: 'written', disk_format: 'qcow2', container_format: 'bare' }
      const { id } = (await demo.post<{ id: string }>('/image/v2/images', draft)).body
      await demo.call('PUT', `/image/v2/images/${id}/file`, undefined, {
        raw: await readFile(path),
        headers: { 'content-type': 'application/octet-stream' },
      })
      return { id, path, format: 'qcow2' } as const
    }

    async function made(fields: object): Promise<string> {
      const { status, body } = await demo.post<Loose>(`${ROOT}/volumes`, { volume: fields })
      expect(status, JSON.stringify(body)).toBe(202)
      const { id } = body['volume'] as { readonly id: string }
      const statusOf = async () => (await showStored(demo, 'volume', id))?.status
      await expect.poll(statusOf, poll).not.toBe('creating')
      expect(await statusOf()).toBe('available')
      return id
    }
    async function removed(volume: string): Promise<void> {
      expect((await demo.delete(`${ROOT}/volumes/${volume}`)).status).toBe(202)
      await expect.poll(() => showStored(demo, 'volume', volume), poll).toBeUndefined()
    }

    /** Afterwards it is in that store, and nothing of it is elsewhere. */
    async function moved(volume: string, store: StoreName): Promise<void> {
      const path = `/federation/v1/volumes/${volume}/move`
      const { status, body } = await admin.post<Operation>(path, { store })
      expect(status, JSON.stringify(body)).toBe(202)
      const ended = await endOfOperation(admin, body.id, LIMIT_MS)
      expect(ended).toMatchObject({ state: 'done', message: null })
      expect(await showStored(demo, 'volume', volume)).toMatchObject({ status: 'available' })
      for (const each of STORES) {
        const names = async () =>
          (await contents[each].names()).filter((name) => name.includes(volume)).length
        await expect.poll(names, poll).toBe(each === store ? 1 : 0)
      }
    }

    async function expectNothingLeft(): Promise<void> {
      for (const store of STORES) await expect.poll(() => contents[store].names(), poll).toEqual([])
      for (const { name } of hosts) {
        const copies = join(cloud.foundation.directory, name, 'volume-copies')
        if (existsSync(copies)) await expect.poll(() => readdir(copies), poll).toEqual([])
      }
      await expectInvariants(cloud)
    }

    test('a volume has every byte in each store, whether one host reaches both or none does', async () => {
      const volume = await made({ size: 1, imageRef: image.id, volume_type: 'north' })
      const action = { 'os-retype': { new_type: 'any', migration_policy: 'never' } }
      expect((await demo.post(`${ROOT}/volumes/${volume}/action`, action)).status).toBe(202)

      for (const store of ['ceph', 'south', 'ceph', 'north'] as const) {
        await moved(volume, store)
        await expectSameContent(image, contents[store].diskOf({ volume }))
      }

      await removed(volume)
      await expectNothingLeft()
    }, 1_800_000)

    test('an encrypted volume has every byte in each store, and its key opens it', async () => {
      const plain = await made({ size: 1, imageRef: image.id, volume_type: 'north' })
      const volume = await made({ size: 1, source_volid: plain, volume_type: 'sealed' })

      for (const store of ['ceph', 'north'] as const) {
        await moved(volume, store)
        const copy = await made({ size: 1, source_volid: volume, volume_type: store })
        await expectSameContent(image, contents[store].diskOf({ volume: copy }))
        await removed(copy)
      }

      for (const each of [volume, plain]) await removed(each)
      await expectNothingLeft()
    }, 3_600_000)
  },
)
