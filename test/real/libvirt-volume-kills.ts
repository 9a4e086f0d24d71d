import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { emptyProject } from '../env/api/empty-project.ts'
import { createServer, deleteServer, SERVERS, showServer, untilStatus } from '../env/api/servers.ts'
import { BLOCK_STORAGE as ROOT, showStored, untilStored } from '../env/api/volumes.ts'
import { CloudProcess } from '../env/cloud/cloud-process.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { askUntil, HeldCommit } from '../env/held-commit.ts'
import { expectInvariants } from '../env/invariants.ts'
import { storesReported } from '../env/stores-reported.ts'
import { untilBooted } from './guest-console.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { libvirtProgram } from './libvirt-program.ts'
import { CASES, labelOf, type Operation, type Victim } from './libvirt-volume-kill-cases.ts'
import { expectSameContent, type StoreContent, type Stored } from './store-content.ts'

/** Needed on every host of these tests. */
export const COMMANDS = [
  ...['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'genisoimage', 'syslinux'],
]
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const MIB = 1024 ** 2
const GIB = 1024 * MIB
const LIMIT_MS = 180_000
/** A request that was lost is sent again after this long; one that is under way refuses that. */
const AGAIN_MS = 3_000

/** A store that a host is given. */
export interface KillsStore {
  readonly name: string
  /** Settings of the cell that keeps volumes in it. */
  readonly cell?: Readonly<Record<string, string>>
  /** Afterwards the host has it, until `owned` is disposed of. Returns the settings of its compute, and the view of the store. */
  give(libvirt: LibvirtHarness, owned: AsyncDisposableStack): Promise<GivenStore>
}

export interface GivenStore {
  readonly settings: Readonly<Record<string, string>>
  readonly content: (of: {
    readonly cellId: CellId
    readonly stateDirectory: string
  }) => StoreContent
}

/** What a case works on. */
interface Things {
  volume: string
  /** For which the server's volume is swapped; empty: none. */
  other: string
  snapshot: string
  server: string
}

/**
 * Whichever process is killed between any two commits of any saga of volumes, the request ends as it was meant, or is undone
 * and can be repeated; no byte is lost, and nothing is left behind. `why`: the tests are skipped.
 */
export function volumeKills(store: KillsStore, why: string | undefined): void {
  describe.skipIf(why !== undefined)(
    `volumes of libvirt (${store.name}) while processes are killed${why === undefined ? '' : ` (skipped: ${why})`}`,
    () => {
      const owned = new AsyncDisposableStack()
      let contentFile: string
      let cloud: Cloud
      let demo: ApiClient
      let libvirt: LibvirtHarness
      let compute: CloudProcess
      let stored: StoreContent
      let images: { readonly blank: string; readonly system: string; readonly content: string }

      beforeAll(async () => {
        libvirt = owned.use(await startLibvirtHarness('kills'))
        const { settings, content: contentOf } = await store.give(libvirt, owned)
        cloud = owned.use(
          await startCloud({
            ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 },
            outside: ['gateway', 'cell'],
            ...(store.cell && { cell: store.cell }),
          }),
        )
        demo = cloud.as('demo')
        const program = await libvirtProgram(cloud, 'kills-1', libvirt, settings)
        const log = join(cloud.foundation.directory, 'kills-1.log')
        compute = owned.use(new CloudProcess(program, true, log))
        await compute.start()
        await storesReported(cloud)
        const stateDirectory = compute.setting('COMPUTE_STATE_DIRECTORY')
        stored = contentOf({ cellId: cloud.cells[0]!.id, stateDirectory })
        const { path } = await buildGuestImage(GUEST_CACHE)
        const content = randomBytes(MIB)
        contentFile = join(cloud.foundation.directory, 'content')
        await writeFile(contentFile, content)
        images = {
          blank: await uploaded('blank', 'raw', Buffer.alloc(MIB)),
          system: await uploaded('system', 'qcow2', await readFile(path)),
          content: await uploaded('content', 'raw', content),
        }
      }, 300_000)
      afterAll(() => owned.disposeAsync(), 120_000)

      async function uploaded(name: string, disk_format: string, bytes: Buffer): Promise<string> {
        const draft = { name, disk_format, container_format: 'bare' }
        const { id } = (await demo.post<{ id: string }>('/image/v2/images', draft)).body
        await demo.call('PUT', `/image/v2/images/${id}/file`, undefined, {
          raw: bytes,
          headers: { 'content-type': 'application/octet-stream' },
        })
        return id
      }

      const expectContent = (of: Stored) =>
        expectSameContent({ path: contentFile, format: 'raw' }, stored.diskOf(of))
      const domainOf = ({ server }: Things) => libvirt.virsh('dumpxml', `weir-${server}`)
      const attachments = ({ server }: Things) => `${SERVERS}/${server}/os-volume_attachments`
      const show = (kind: 'volume' | 'snapshot', id: string) => showStored(demo, kind, id)
      const newVolume = async (imageRef = images.content) => {
        const zone = cloud.cells[0]!.name
        const volume = { size: 1, imageRef, availability_zone: zone }
        const { body } = await demo.post<Loose>(`${ROOT}/volumes`, { volume })
        return (body['volume'] as { readonly id: string }).id
      }
      const newSnapshot = async ({ volume }: Things) => {
        const snapshot = { volume_id: volume, force: true }
        const { body } = await demo.post<Loose>(`${ROOT}/snapshots`, { snapshot })
        return (body['snapshot'] as { readonly id: string }).id
      }

      /** Sends the request; one that the operation has made obsolete is refused. */
      async function request({ name }: Operation, things: Things): Promise<void> {
        const { volume, snapshot } = things
        if (name === 'create') things.volume = await newVolume()
        if (name === 'attach')
          await demo.post(attachments(things), { volumeAttachment: { volumeId: volume } })
        if (name === 'detach') await demo.delete(`${attachments(things)}/${volume}`)
        if (name === 'swap')
          await cloud.as('admin').put(`${attachments(things)}/${volume}`, {
            volumeAttachment: { volumeId: things.other },
          })
        if (name === 'extend') {
          const path = `${ROOT}/volumes/${volume}/action`
          await demo.post(path, { 'os-extend': { new_size: 2 } }, { version: '3.42' })
        }
        if (name === 'snapshot') things.snapshot = await newSnapshot(things)
        if (name === 'delete-snapshot') await demo.delete(`${ROOT}/snapshots/${snapshot}`)
        if (name === 'delete') await demo.delete(`${ROOT}/volumes/${volume}`)
      }

      /** `again`: it has failed, or never arrived, so its user repeats it. */
      async function progress({ name }: Operation, things: Things): Promise<'done' | 'again' | ''> {
        const { volume, snapshot } = things
        if (name === 'create' && volume === '') {
          const { body } = await demo.get<{ volumes: { id: string }[] }>(`${ROOT}/volumes`)
          things.volume = body.volumes[0]?.id ?? ''
          return things.volume === '' ? 'again' : ''
        }
        const seen = await show('volume', volume)
        if (name === 'create') {
          // It was asked for while no host that reaches its store was up.
          if (seen?.status === 'error') await demo.delete(`${ROOT}/volumes/${volume}`)
          if (seen === undefined) things.volume = ''
          return seen?.status === 'available' ? 'done' : ''
        }
        if (name === 'attach' || name === 'detach') {
          const [from, to] = name === 'attach' ? ['available', 'in-use'] : ['in-use', 'available']
          return seen?.status === to ? 'done' : seen?.status === from ? 'again' : ''
        }
        if (name === 'swap') return swapProgress(things)
        if (name === 'extend') {
          if (seen?.status !== 'in-use') return ''
          return seen['size'] === 2 ? 'done' : 'again'
        }
        if (name === 'delete') return seen === undefined ? 'done' : 'again'
        if (name === 'delete-snapshot')
          return (await show('snapshot', snapshot)) === undefined ? 'done' : 'again'
        return snapshotProgress(things)
      }

      /** The volume of a guest that has ended is not swapped, and stays with its server. */
      async function swapProgress({
        volume,
        other,
        server,
      }: Things): Promise<'done' | 'again' | ''> {
        const ids = [volume, other]
        const [had, next] = await Promise.all(
          ids.map(async (id) => (await show('volume', id))?.status),
        )
        if (had === 'available' && next === 'in-use') return 'done'
        if (had !== 'in-use' || next !== 'available') return ''
        return (await showServer(demo, server)).status === 'ACTIVE' ? 'again' : 'done'
      }

      async function snapshotProgress(things: Things): Promise<'done' | 'again' | ''> {
        const { body } = await demo.get<{ snapshots: { id: string; status: string }[] }>(
          `${ROOT}/snapshots`,
        )
        const failed = body.snapshots.find(({ status }) => status === 'error')
        if (failed !== undefined) await demo.delete(`${ROOT}/snapshots/${failed.id}`)
        const made = body.snapshots.find(({ status }) => status === 'available')
        things.snapshot = made?.id ?? ''
        if (made !== undefined) return 'done'
        return body.snapshots.length === 0 ? 'again' : ''
      }

      async function untilDone(operation: Operation, things: Things): Promise<void> {
        let askedAt = performance.now()
        await waitFor(
          `${operation.name} to be done`,
          async () => {
            const state = await progress(operation, things)
            if (state === 'again' && performance.now() - askedAt > AGAIN_MS) {
              await request(operation, things).catch(() => undefined)
              askedAt = performance.now()
            }
            return state === 'done'
          },
          LIMIT_MS,
        )
      }

      const PROCESSES = ['gateway', 'cell', 'compute'] as const
      const processOf = {
        gateway: () => cloud.gateways[0]!,
        cell: () => cloud.cells[0]!.processes[0]!,
        compute: () => compute,
      }
      async function kill(victim: Victim, { server }: Things): Promise<void> {
        const options = { timeoutMs: 20_000 }
        if (victim === 'gateway' || victim === 'cell' || victim === 'compute')
          await processOf[victim]().kill()
        if (victim === 'libvirtd')
          await libvirt.host.run(
            'pkill',
            ['-KILL', '--pidfile', '/run/libvirt/libvirtd.pid'],
            options,
          )
        if (victim === 'QEMU')
          await libvirt.host.run('pkill', ['-KILL', '-f', `guest=weir-${server}`], options)
      }
      async function revive(victim: Victim): Promise<void> {
        const isProcess = victim === 'gateway' || victim === 'cell' || victim === 'compute'
        const process = isProcess ? processOf[victim]() : undefined
        if (process?.isRunning === false) await process.start()
        if (victim === 'libvirtd') await libvirt.host.restartDaemon()
      }

      async function storeState(): Promise<string | undefined> {
        type Pools = { readonly pools: readonly { capabilities: { backend_state: string } }[] }
        const path = `${ROOT}/scheduler-stats/get_pools?detail=true`
        return (await cloud.as('admin').get<Pools>(path)).body.pools[0]?.capabilities.backend_state
      }

      async function prepared({
        name,
        guest,
        isAttached,
        hasSnapshot,
      }: Operation): Promise<Things> {
        const things: Things = { volume: '', other: '', snapshot: '', server: '' }
        // The host of the case before may have come back only now.
        await expect.poll(storeState, { timeout: LIMIT_MS }).toBe('up')
        if (guest !== 'none') {
          things.server = await createServer(cloud, demo, { imageRef: images[guest] })
          await untilStatus(demo, things.server, 'ACTIVE', LIMIT_MS)
        }
        if (name === 'create') return things
        things.volume = await newVolume()
        await untilStored(demo, 'volume', things.volume, 'available', LIMIT_MS)
        if (name === 'swap') {
          things.other = await newVolume(images.blank)
          await untilStored(demo, 'volume', things.other, 'available', LIMIT_MS)
        }
        if (hasSnapshot === true) {
          things.snapshot = await newSnapshot(things)
          await untilStored(demo, 'snapshot', things.snapshot, 'available', LIMIT_MS)
        }
        if (isAttached === true) {
          const { volume: volumeId } = things
          await demo.post(attachments(things), { volumeAttachment: { volumeId } })
          await untilStored(demo, 'volume', volumeId, 'in-use', LIMIT_MS)
        }
        if (guest === 'system') await untilBooted(demo, things.server)
        return things
      }

      /** What is on the disk, and what the hypervisor has, is what the API says. */
      async function verify({ name, guest }: Operation, things: Things): Promise<void> {
        const { volume, snapshot } = things
        expect(await stored.isThere({ volume })).toBe(name !== 'delete')
        if (name !== 'delete') await expectContent({ volume })
        if (name === 'extend') expect(await stored.bytesOf(volume)).toBe(2 * GIB)
        if (name === 'snapshot') await expectContent({ volume, snapshot })
        if (name === 'delete-snapshot')
          expect(await stored.isThere({ volume, snapshot })).toBe(false)
        if (guest === 'none') return
        if (name === 'swap') return verifySwap(things)
        const has = (await domainOf(things)).includes(`<serial>${things.volume}</serial>`)
        expect(has).toBe(name !== 'detach')
      }

      /** The server has the content in the volume that the API says, and no part of the other one. */
      async function verifySwap({ volume, other, server }: Things): Promise<void> {
        const isSwapped = (await show('volume', other))?.status === 'in-use'
        const [has, free] = isSwapped ? [other, volume] : [volume, other]
        await expectContent({ volume: has })
        const sourceOf = (xml: string) =>
          xml.split('<disk ').filter((disk) => disk.includes('ua-vol-'))
        for (const flags of [[], ['--inactive']]) {
          const [disk = '', ...more] = sourceOf(
            await libvirt.virsh('dumpxml', `weir-${server}`, ...flags),
          )
          const [, source = ''] = /<source [^>]*(?:file|name)='([^']*)'/.exec(disk) ?? []
          expect([more, disk.includes('<mirror')]).toEqual([[], false])
          expect(source).toContain(has)
          expect(source).not.toContain(free)
        }
      }

      async function cleared({ volume, other, snapshot, server }: Things): Promise<void> {
        if (server !== '') await deleteServer(demo, server)
        for (const [kind, id] of [
          ['snapshot', snapshot],
          ['volume', volume],
          ['volume', other],
        ] as const) {
          if (id === '' || (await show(kind, id)) === undefined) continue
          if (kind === 'volume') await untilStored(demo, kind, id, 'available', LIMIT_MS)
          await demo.delete(`${ROOT}/${kind}s/${id}`)
          await waitFor(`${kind} to go`, async () => (await show(kind, id)) === undefined, LIMIT_MS)
        }
        await expectInvariants(cloud)
        expect(await stored.names()).toEqual([])
      }

      test.each(CASES.map((each) => [labelOf(each), each] as const))(
        '%s',
        async (_label, { operation, victim, place, saga, point, when }) => {
          // The server of a failed case would break the invariants of every case after it.
          onTestFailed(async () => {
            // One that did not start in time would fail them too.
            for (const each of PROCESSES) await revive(each)
            await emptyProject(demo, LIMIT_MS)
          }, LIMIT_MS * 2)
          const things = await prepared(operation)
          const database =
            place === 'gateway' ? cloud.foundation.databaseUrl : cloud.cells[0]!.databaseUrl
          await using held = await HeldCommit.open(database, saga, point)
          // A loaded host may copy a volume for a minute.
          const reached = held.reached(LIMIT_MS)
          const asked = askUntil(reached, () => request(operation, things), AGAIN_MS)
          try {
            await reached
            if (when === 'past') await held.release()
            await kill(victim, things)
            // The owner of the transaction has died in the middle of it.
            if (when === 'before' && victim === place) await held.abort()
            else await held.release()
          } finally {
            await revive(victim)
          }
          await asked

          await untilDone(operation, things)

          await verify(operation, things)
          await cleared(things)
        },
        LIMIT_MS * 2,
      )
    },
  )
}
