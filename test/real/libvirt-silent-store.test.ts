import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { PoolCalls } from '#drivers/libvirt/volumes/pool-calls.ts'
import { Pools } from '#drivers/libvirt/volumes/pools.ts'
import { IDENTITY_FILE, storeIdentity } from '#drivers/store-identity.ts'
import { isFullRun } from '../env/full-run.ts'
import { silenceFolder, whyNotSilent } from '../env/silent-folder.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const why = whyNotSilent()
/** As many as there are threads for the work of a process with files. */
const SILENT = ['one', 'two', 'three', 'four']

const signal = () => AbortSignal.timeout(20_000)

describe.skipIf(why !== undefined)(
  `a folder that does not answer${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let directory: string
    const folder = (name: string) => join(directory, name)
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'weir-silent-'))
      for (const name of ['good', ...SILENT]) await mkdir(folder(name))
    })
    afterEach(() => rm(directory, { recursive: true }))

    /** A hypervisor with active pools in these folders. */
    function calls(): PoolCalls {
      const none = () => Promise.reject(new Error('not asked for'))
      return {
        find: async (name) => ({ name, uuid: Buffer.alloc(16) }),
        xml: async ({ name }) =>
          `<pool type='dir'><target><path>${folder(name)}</path></target></pool>`,
        isActive: () => Promise.resolve(true),
        ...{ define: none, start: none, cephKey: none, iscsiPassword: none },
      }
    }

    test('is left out until it answers, and stops nothing else of the process', async () => {
      const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
      const settings = { names: [...SILENT, 'good'], cephPrograms: undefined }
      const pools = new Pools({ owner, stateDirectory: directory }, settings, calls(), undefined)
      const names = async () => (await pools.reached(signal())).map(({ name }) => name)
      const id = await storeIdentity(folder('good'))
      expect(await names()).toEqual([...SILENT, 'good'])
      await using silences = new AsyncDisposableStack()
      for (const name of SILENT) silences.use(await silenceFolder(folder(name)))

      const [got, reached] = await Promise.all([pools.get(id, signal()), names()])
      expect(got).toMatchObject({ id, name: 'good' })
      expect(reached).toEqual(['good'])
      expect(await readFile(join(folder('good'), IDENTITY_FILE), 'utf8')).toContain(id)

      await silences.disposeAsync()
      await expect.poll(names).toEqual([...SILENT, 'good'])
    }, 60_000)
  },
)

const whyNoDaemon = isFullRun ? (why ?? whyNoGuests(['libvirtd', 'virsh'])) : 'not asked for'
/** Longer than a look, and then a call of the next one, are waited for. */
const SILENCE_MS = 130_000

describe.skipIf(whyNoDaemon !== undefined)(
  `a pool that the daemon waits for${whyNoDaemon === undefined ? '' : ` (skipped: ${whyNoDaemon})`}`,
  () => {
    test('does not end what the host asks of guests and of other pools', async () => {
      const directory = await mkdtemp(join(tmpdir(), 'weir-stuck-'))
      const folder = (name: string) => join(directory, name)
      for (const name of ['silent', 'mounted', 'good']) await mkdir(folder(name), { mode: 0o711 })
      await using owned = new AsyncDisposableStack()
      owned.defer(() => rm(directory, { recursive: true }))
      // Before the host has a mount namespace of its own.
      owned.use(await silenceFolder(folder('silent')))
      const harness = owned.use(await startLibvirtHarness('stuck'))
      await harness.virsh('pool-define-as', 'good', 'dir', '--target', folder('good'))
      const source = ['--source-dev', join(folder('silent'), 'device'), '--source-format', 'ext4']
      await harness.virsh('pool-define-as', 'stuck', 'fs', ...source, '--target', folder('mounted'))
      const volumePools = ['stuck', 'good']
      const driver = owned.use(await harness.openAs(harness.owner, { volumePools }))
      const stores = () => driver.volumes!.stores(signal())

      const end = performance.now() + SILENCE_MS
      const isOver = () => performance.now() > end
      const guests = async () => {
        while (!isOver()) expect(await driver.list(signal())).toEqual([])
      }
      const pools = async () => {
        while (!isOver()) expect(await stores()).toMatchObject([{ name: 'good' }])
      }
      await Promise.all([guests(), pools()])
    }, 300_000)
  },
)
