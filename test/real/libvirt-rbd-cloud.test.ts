import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import {
  act,
  createServer,
  deleteServer,
  SERVERS,
  showServer,
  untilStatus,
} from '../env/api/servers.ts'
import { BLOCK_STORAGE as ROOT, showStored } from '../env/api/volumes.ts'
import { type CephRbd, isCephRbdHere, startCephRbd } from '../env/ceph/rbd.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { storesReported } from '../env/stores-reported.ts'
import { printedBy, untilBooted } from './guest-console.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { giveRbdPool, rbdContent } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: through gateway and cell a volume in Ceph is made, started from, attached, written, kept, copied, extended and
// evacuated, encrypted or not, and its guest reads what it has written to the end.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const LIMIT_MS = 240_000
const poll = { timeout: LIMIT_MS, interval: 1_000 }
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

interface Host {
  readonly libvirt: LibvirtHarness
  readonly compute: DrivenHost
}

describe.skipIf(why !== undefined)(
  `a cloud with volumes in a Ceph${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    const hosts: Host[] = []
    let ceph: CephRbd
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let content: ReturnType<typeof rbdContent>
    let imageRef: string

    beforeAll(async () => {
      ceph = owned.use(await startCephRbd())
      const processes = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
      // Volumes take room as they are written.
      const cell = { CELL_STORE_ALLOCATION_RATIO: '4' }
      cloud = owned.use(await startCloud({ ...processes, cell }))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      for (const name of ['one', 'two']) hosts.push(await startHost(name))
      await storesReported(cloud)
      content = rbdContent(ceph, { cellId: cloud.cells[0]!.id })
      const draft = { name: 'system', disk_format: 'qcow2', container_format: 'bare' }
      imageRef = (await demo.post<{ id: string }>('/image/v2/images', draft)).body.id
      const { path } = await buildGuestImage(GUEST_CACHE)
      await demo.call('PUT', `/image/v2/images/${imageRef}/file`, undefined, {
        raw: await readFile(path),
        headers: { 'content-type': 'application/octet-stream' },
      })
      const { body } = await admin.post<Loose>(`${ROOT}/types`, { volume_type: { name: 'sealed' } })
      const { id } = body['volume_type'] as { readonly id: string }
      const encryption = { provider: 'luks', control_location: 'front-end', key_size: 256 }
      await admin.post(`${ROOT}/types/${id}/encryption`, { encryption })
    }, 400_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    async function startHost(name: string): Promise<Host> {
      const libvirt = owned.use(await startLibvirtHarness(name))
      owned.use(await giveRbdPool(libvirt, ceph))
      const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20', virt_type: 'qemu' }
      const pools = { volume_pools: 'ceph', ceph_programs: ceph.programs }
      const settings = { uri: libvirt.host.uri, ...size, ...pools }
      return { libvirt, compute: owned.use(await startDrivenHost(cloud, 'libvirt', settings)) }
    }

    const until = (kind: 'volume' | 'snapshot', id: string, wanted: string) =>
      waitFor(
        `${kind} ${id} to be ${wanted}`,
        async () => {
          const seen = await showStored(admin, kind, id)
          const ends = [wanted, 'error'].includes(seen?.status ?? '')
          return ends && seen
        },
        LIMIT_MS,
      ).then((seen) => expect(seen).toMatchObject({ status: wanted }))
    const made = async (kind: 'volume' | 'snapshot', fields: object) => {
      const { status, body } = await demo.post<Loose>(`${ROOT}/${kind}s`, { [kind]: fields })
      expect(status, JSON.stringify(body)).toBe(202)
      const { id } = body[kind] as { readonly id: string }
      await until(kind, id, 'available')
      return id
    }
    const removed = async (kind: 'volume' | 'snapshot', id: string) => {
      expect((await demo.delete(`${ROOT}/${kind}s/${id}`)).status).toBe(202)
      await expect.poll(() => showStored(demo, kind, id), poll).toBeUndefined()
    }
    const hostOf = async (server: string) =>
      String((await showServer(admin, server))['OS-EXT-SRV-ATTR:host'])
    const printed = (server: string, command: string) => printedBy(demo, server, command)

    /** It does not answer, and its guests run on. */
    let lost: Host | undefined
    const force = ({ compute }: Host, forced_down: boolean) => {
      const service = { host: compute.name, binary: 'nova-compute', forced_down }
      return admin.put('/compute/v2.1/os-services/force-down', service, { version: '2.11' })
    }
    async function cameBack(): Promise<Host> {
      const back = lost!
      lost = undefined
      await back.libvirt.host.restartDaemon()
      await back.compute.start()
      await force(back, false)
      return back
    }
    afterEach(async () => {
      if (lost !== undefined) await cameBack()
    }, 60_000)

    const written = (server: string) =>
      printed(
        server,
        'test -e /tmp/x || dd if=/dev/urandom of=/tmp/x bs=1M count=4 2>/dev/null; dd if=/tmp/x of=/dev/vdb bs=64k conv=fsync 2>/dev/null && md5sum </tmp/x | cut -c1-32',
      )
    const read = (server: string) =>
      printed(server, 'head -c 4194304 /dev/vdb | md5sum | cut -c1-32')

    test.each(['', 'sealed'])(
      'a server starts from a volume of type "%s", and its data go through every step',
      async (type) => {
        const typed = type === '' ? {} : { volume_type: type }
        const root = await made('volume', { size: 1, imageRef, ...typed })
        const data = await made('volume', { size: 1, ...typed })
        const block_device_mapping_v2 = [
          { uuid: root, source_type: 'volume', destination_type: 'volume', boot_index: 0 },
        ]
        const server = await createServer(cloud, demo, { imageRef: '', block_device_mapping_v2 })
        await untilStatus(demo, server, 'ACTIVE', LIMIT_MS)
        await untilBooted(demo, server)
        const attachments = `${SERVERS}/${server}/os-volume_attachments`
        const attach = async (volumeId: string) => {
          await demo.post(attachments, { volumeAttachment: { volumeId } })
          await until('volume', volumeId, 'in-use')
        }
        const detach = async (volumeId: string) => {
          await demo.delete(`${attachments}/${volumeId}`)
          await until('volume', volumeId, 'available')
        }
        await attach(data)
        const digest = await written(server)

        const snapshot = await made('snapshot', { volume_id: data, force: true })
        const clone = await made('volume', { size: 1, source_volid: data })
        const extend = { 'os-extend': { new_size: 2 } }
        const extended = await demo.post(`${ROOT}/volumes/${data}/action`, extend, {
          version: '3.42',
        })
        expect(extended.status).toBe(202)
        await until('volume', data, 'in-use')
        expect(await showStored(demo, 'volume', data)).toMatchObject({ size: 2 })
        expect(await printed(server, 'cat /sys/block/vdb/size')).toBe(String(2 * 2 ** 21))
        expect(await read(server)).toBe(digest)

        // The guest overwrites it; the snapshot and the copy have what was there before.
        await printed(
          server,
          'dd if=/dev/zero of=/dev/vdb bs=1M count=4 conv=fsync 2>/dev/null; echo ok',
        )
        const restored = await made('volume', { size: 1, snapshot_id: snapshot })
        await detach(data)
        for (const copy of [clone, restored]) {
          await attach(copy)
          expect(await read(server)).toBe(digest)
          if (copy === clone) await detach(copy)
        }

        // Its host does not answer any more, and the guest runs on there.
        const former = await hostOf(server)
        lost = hosts.find(({ compute }) => compute.name === former)!
        await lost.compute.stop()
        await lost.libvirt.host.stopDaemon()
        await force(lost, true)
        const asked = await act(admin, server, { evacuate: {} }, { version: '2.14' })
        expect(asked.status, JSON.stringify(asked.body)).toBeLessThan(300)
        await expect.poll(() => hostOf(server), poll).not.toBe(former)
        const isAtRest = async () => {
          const { status, 'OS-EXT-STS:task_state': task } = await showServer(admin, server)
          return `${status} ${String(task)}`
        }
        await expect.poll(isAtRest, poll).toBe('ACTIVE null')
        const shutOut = await ceph.cluster.tool('ceph', 'osd', 'blocklist', 'ls')
        expect(shutOut).toContain('127.0.0.1')
        expect(await read(server)).toBe(digest)

        // The host is back, and ends what it still has of the server.
        const back = await cameBack()
        const names = async () => (await back.libvirt.virsh('list', '--all', '--name')).trim()
        await expect.poll(names, poll).toBe('')
        expect(await read(server)).toBe(digest)

        await deleteServer(demo, server)
        await removed('snapshot', snapshot)
        for (const id of [root, data, clone, restored]) {
          await until('volume', id, 'available')
          await removed('volume', id)
        }
        await waitFor(
          'nothing to be left in the pool',
          async () => (await content.leftovers('weir')).length === 0,
          LIMIT_MS,
        )
        await expectInvariants(cloud)
      },
      1_200_000,
    )
  },
)
