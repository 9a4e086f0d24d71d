import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { PoolCalls } from '#drivers/libvirt/volumes/pool-calls.ts'
import { Pools } from '#drivers/libvirt/volumes/pools.ts'
import { IDENTITY_FILE, storeIdentity } from '#drivers/store-identity.ts'
import { silenceFolder, whyNotSilent } from '../env/silent-folder.ts'

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
