import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '#drivers/run.ts'
import { whyNoGuests } from '../real/requirements.ts'

const ROOT = join(import.meta.dirname, '../..')
const NOBODY = 65_534
const COMMAND_MS = 60_000
/** Root that obeys the modes of files, as any account of a backend's operator does. */
const OBEYING = ['--bounding-set=-dac_override,-dac_read_search', process.execPath]
const why = whyNoGuests(['setpriv'])

/** Opens a host over what may not be used, and says what it says of itself. */
const SCRIPT = `
const [driver, stateDirectory, settings] = process.argv.slice(1)
const { createDriver } = await import('#drivers/registry.ts')
const { newId } = await import('#common/ids.ts')
const { errorChain } = await import('#common/errors.ts')
const images = { open: () => Promise.reject(new Error('no image')) }
const environment = { owner: { cellId: newId(), hostId: newId() }, stateDirectory, images }
try {
  await using host = await createDriver(driver, environment, JSON.parse(settings))
  await host.inventory(AbortSignal.timeout(20_000))
} catch (error) {
  process.stdout.write(String(error.kind) + ' ' + errorChain(error))
}
`

describe.skipIf(why !== undefined)(
  `rights that are missing${why ? ` (skipped: ${why})` : ''}`,
  () => {
    let folder: string
    let socketPath: string
    const server = createServer()

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-mr-'))
      socketPath = join(folder, 'backend.sock')
      server.listen(socketPath)
      await once(server, 'listening')
      await chown(socketPath, NOBODY, NOBODY)
      await chmod(socketPath, 0o600)
      await mkdir(join(folder, 'theirs'), { mode: 0o755 })
      await chown(join(folder, 'theirs'), NOBODY, NOBODY)
    })
    afterAll(async () => {
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    })

    const failureOf = async (driver: string, state: string, settings: object) => {
      const script = ['--input-type=module', '--eval', SCRIPT]
      const args = [driver, join(folder, state), JSON.stringify(settings)]
      const options = { timeoutMs: COMMAND_MS, cwd: ROOT }
      const { stdout } = await run('setpriv', [...OBEYING, ...script, ...args], options)
      return stdout.trim()
    }
    /** What it is made with where its backend is the socket. */
    const settingsOf: Readonly<Record<string, () => object>> = {
      docker: () => ({ endpoint: `unix://${socketPath}` }),
      libvirt: () => ({
        uri: `qemu+unix:///system?socket=${encodeURIComponent(socketPath)}`,
        virt_type: 'qemu',
      }),
    }

    test.each(Object.keys(settingsOf))(
      '%s is away where its socket may not be used, and names it',
      async (driver) => {
        const answer = await failureOf(driver, driver, settingsOf[driver]!())

        expect(answer).toMatch(/^unavailable .*EACCES/)
        expect(answer).toContain(socketPath)
      },
    )

    test.each([...Object.keys(settingsOf), 'fake'])(
      '%s does not start over a folder where it may not write, and names it',
      async (driver) => {
        const answer = await failureOf(driver, 'theirs/state', settingsOf[driver]?.() ?? {})

        expect(answer).toContain('EACCES')
        expect(answer).toContain(join(folder, 'theirs'))
      },
    )
  },
)
