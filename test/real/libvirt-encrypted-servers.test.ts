import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { run } from '#drivers/run.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { act, deleteServer, SERVERS, showServer, untilStatus } from '../env/api/servers.ts'
import { makeStored, BLOCK_STORAGE as ROOT, removeStored, untilStored } from '../env/api/volumes.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { storesReported } from '../env/stores-reported.ts'
import { printedBy, untilBooted } from './guest-console.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: through gateway and cell a server has what its guest wrote to its encrypted volumes, its first disk or another one,
// after every act that Nova allows it; the others are refused in Nova's words; and no file shows what the guest wrote.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const LIMIT_MS = 240_000
const TEST_MS = 1_200_000
const poll = { timeout: LIMIT_MS, interval: 500 }
const MARKER = 'the-guest-wrote-this'
/** MiB; past what the image has, and within every disk. */
const PLACE = 900
const LENGTH = 2 ** 20
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `servers with encrypted volumes${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    const hosts: LibvirtHarness[] = []
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let pool: string
    let imageRef: string
    let rescuer: string

    beforeAll(async () => {
      const processes = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
      cloud = owned.use(await startCloud(processes))
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      for (const name of ['one', 'two']) await startHost(name)
      await storesReported(cloud)
      imageRef = await newImage({})
      rescuer = await newImage({ hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' })
      const { body } = await admin.post<Loose>(`${ROOT}/types`, { volume_type: { name: 'sealed' } })
      const { id } = body['volume_type'] as { readonly id: string }
      const encryption = { provider: 'luks', control_location: 'front-end', key_size: 256 }
      await admin.post(`${ROOT}/types/${id}/encryption`, { encryption })
    }, 400_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    async function newImage(properties: object): Promise<string> {
      const draft = { name: 'system', disk_format: 'qcow2', container_format: 'bare' }
      const asked = { ...draft, ...properties }
      const { id } = (await demo.post<{ id: string }>('/image/v2/images', asked)).body
      const { path } = await buildGuestImage(GUEST_CACHE)
      await demo.call('PUT', `/image/v2/images/${id}/file`, undefined, {
        raw: await readFile(path),
        headers: { 'content-type': 'application/octet-stream' },
      })
      return id
    }

    /** Both hosts have the folder of the first as their store. */
    async function startHost(name: string): Promise<void> {
      const libvirt = owned.use(await startLibvirtHarness(name))
      const folder = join(libvirt.directory, 'pool')
      if (pool === undefined) await mkdir(folder, { mode: 0o711 })
      else await symlink(pool, folder)
      pool ??= folder
      await libvirt.virsh('pool-define-as', 'shared', 'dir', '--target', folder)
      const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20', virt_type: 'qemu' }
      const settings = { uri: libvirt.host.uri, volume_pools: 'shared', ...size }
      owned.use(await startDrivenHost(cloud, 'libvirt', settings))
      hosts.push(libvirt)
    }

    async function created(disks: object): Promise<string> {
      const { tiny, network } = cloud.catalog
      const server = { name: 'sealed', flavorRef: tiny, networks: [{ uuid: network }], ...disks }
      const version = { version: '2.67' } as const
      const asked = await demo.post<{ server: { id: string } }>(SERVERS, { server }, version)
      expect(asked.status, JSON.stringify(asked.body)).toBe(202)
      const { id } = await untilStatus(demo, asked.body.server.id, 'ACTIVE', LIMIT_MS)
      await untilBooted(demo, id)
      return id
    }
    const sealedVolume = () => makeStored(demo, 'volume', { size: 1, volume_type: 'sealed' })
    const volumesOf = async (server: string) =>
      (
        await demo.get<{ volumeAttachments: readonly { volumeId: string }[] }>(
          `${SERVERS}/${server}/os-volume_attachments`,
        )
      ).body.volumeAttachments.map(({ volumeId }) => volumeId)
    async function attach(server: string, volumeId: string): Promise<void> {
      const path = `${SERVERS}/${server}/os-volume_attachments`
      await demo.post(path, { volumeAttachment: { volumeId } })
      await untilStored(demo, 'volume', volumeId, 'in-use')
    }

    /** The name of the volume's device in the guest. */
    const deviceOf = (volume: string) =>
      `/dev/$(grep -l ^${volume.slice(0, 20)} /sys/block/vd*/serial | cut -d/ -f4)`
    /** Has the guest write something of its own to a disk, which the sum is of. */
    const written = (server: string, device: string) => {
      const file = `/tmp/of-${device.replaceAll(/\W/g, '')}`
      const make = `{ printf ${MARKER}; head -c ${LENGTH} /dev/urandom; } | head -c ${LENGTH} >${file}`
      const to = `of=${device} bs=1M seek=${PLACE} conv=notrunc,fsync`
      const write = `dd if=${file} ${to} 2>/dev/null`
      return printedBy(
        demo,
        server,
        `test -e ${file} || ${make}; ${write} && md5sum <${file} | cut -c1-32`,
      )
    }
    const read = (server: string, device: string) => {
      const from = `dd if=${device} bs=1M skip=${PLACE} count=1 2>/dev/null`
      return printedBy(demo, server, `${from} | md5sum | cut -c1-32`)
    }

    async function does(
      who: ApiClient,
      server: string,
      action: object,
      status: string,
      version: Microversion = '2.1',
    ) {
      const answer = await act(who, server, action, { version })
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
      await untilStatus(demo, server, status, LIMIT_MS)
    }
    const sizeOf = async (server: string) =>
      ((await showServer(demo, server, '2.47'))['flavor'] as { ram: number }).ram

    /** The acts that a server may do whichever disks it has; the guest has these volumes in the end of each. */
    async function throughMoves(server: string, expectSame: () => Promise<void>): Promise<void> {
      const { small } = cloud.catalog
      await does(demo, server, { resize: { flavorRef: small } }, 'VERIFY_RESIZE')
      await expectSame()
      await does(demo, server, { confirmResize: null }, 'ACTIVE')
      expect(await sizeOf(server)).toBe(512)
      await expectSame()
      await does(admin, server, { migrate: null }, 'VERIFY_RESIZE')
      await expectSame()
      await does(demo, server, { revertResize: null }, 'ACTIVE')
      await expectSame()
      await does(demo, server, { 'os-stop': null }, 'SHUTOFF')
      await does(demo, server, { 'os-start': null }, 'ACTIVE')
      await expectSame()
    }

    async function removed(server: string): Promise<void> {
      const volumes = await volumesOf(server)
      const file = (id: string) => join(pool, `weir-${cloud.cells[0]!.id}-${id}.luks`)
      for (const id of volumes) {
        const header = await run('head', ['-c', '4', file(id)], { timeoutMs: LIMIT_MS })
        expect(header.stdout).toBe('LUKS')
        const searched = run('grep', ['-qaF', MARKER, file(id)], { timeoutMs: LIMIT_MS })
        await expect(searched).rejects.toMatchObject({ detail: expect.stringMatching(/^exit 1:/) })
      }
      for (const host of hosts) expect(await host.virsh('secret-list')).not.toMatch(/weir-/)
      await deleteServer(demo, server)
      for (const id of volumes) {
        await untilStored(demo, 'volume', id, 'available')
        await removeStored(demo, 'volume', id)
      }
      await expect
        .poll(async () => (await readdir(pool)).filter((name) => name.startsWith('weir-')), poll)
        .toEqual([])
      await expectInvariants(cloud)
    }

    test(
      'one that starts from an encrypted volume keeps it through a resize, a shelve, a rescue and a rebuild, until it gets new content',
      async () => {
        const root = {
          ...{ source_type: 'image', uuid: imageRef, destination_type: 'volume', boot_index: 0 },
          ...{ volume_size: 1, volume_type: 'sealed' },
        }
        const server = await created({ block_device_mapping_v2: [root] })
        const [first] = await volumesOf(server)
        const data = await sealedVolume()
        await attach(server, data)
        const sums = new Map<string, string>()
        for (const id of [first!, data]) sums.set(id, await written(server, deviceOf(id)))
        const expectSame = async () => {
          for (const [id, sum] of sums) expect(await read(server, deviceOf(id))).toBe(sum)
        }

        const refused = async (action: object) => {
          const { status, body } = await act(demo, server, action)
          return `${status} ${JSON.stringify(body)}`
        }
        expect(await refused({ rescue: null })).toMatch(
          /^400 .*cannot be rescued: Cannot rescue a volume-backed instance/,
        )
        const backup = { name: 'kept', backup_type: 'daily', rotation: 1 }
        expect(await refused({ createBackup: backup })).toMatch(
          /^400 .*Backup is not supported for volume-backed instances\./,
        )
        expect(await showServer(demo, server)).toMatchObject({ status: 'ACTIVE' })
        await expectSame()

        await throughMoves(server, expectSame)
        await does(demo, server, { shelve: null }, 'SHELVED_OFFLOADED')
        await does(demo, server, { unshelve: null }, 'ACTIVE')
        await expectSame()
        const rescue = { rescue: { rescue_image_ref: rescuer } }
        await does(demo, server, rescue, 'RESCUE', '2.87')
        await expectSame()
        await does(demo, server, { unrescue: null }, 'ACTIVE')
        await does(demo, server, { rebuild: { imageRef } }, 'ACTIVE', '2.92')
        await expectSame()

        await does(demo, server, { rebuild: { imageRef } }, 'ACTIVE', '2.93')
        expect(await read(server, deviceOf(first!))).not.toBe(sums.get(first!))
        sums.set(first!, await written(server, deviceOf(first!)))
        await expectSame()
        await removed(server)
      },
      TEST_MS,
    )

    test(
      'one that starts from an image has its encrypted volume through a rebuild, a rescue, a resize and a shelve',
      async () => {
        const server = await created({ imageRef })
        const data = await sealedVolume()
        await attach(server, data)
        const [root, sum] = [
          await written(server, '/dev/vda'),
          await written(server, deviceOf(data)),
        ]
        const expectSame = async () => expect(await read(server, deviceOf(data))).toBe(sum)

        await does(demo, server, { rebuild: { imageRef } }, 'ACTIVE')
        await expectSame()
        expect(await read(server, '/dev/vda')).not.toBe(root)
        const own = await written(server, '/dev/vda')

        await does(demo, server, { rescue: null }, 'RESCUE')
        await expectSame()
        await does(demo, server, { unrescue: null }, 'ACTIVE')
        await expectSame()
        expect(await read(server, '/dev/vda')).toBe(own)

        await throughMoves(server, expectSame)
        await does(demo, server, { shelve: null }, 'SHELVED')
        await does(admin, server, { shelveOffload: null }, 'SHELVED_OFFLOADED')
        await does(demo, server, { unshelve: null }, 'ACTIVE')
        await expectSame()
        expect(await read(server, '/dev/vda')).toBe(own)
        await removed(server)
      },
      TEST_MS,
    )
  },
)
