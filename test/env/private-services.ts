import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { startMariadb, stopMariadb } from '#deploy/mariadb.ts'
import { startNats, stopNats } from '#deploy/nats.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { isRunning, type ProcessIdentity } from '#deploy/process/process-identity.ts'
import type { TestServices } from './services.ts'

const DEATH_LIMIT_MS = 30_000

/** A MariaDB and a NATS of one test's own, so that it may kill them. They come back on the same ports. */
export interface PrivateServices extends AsyncDisposable {
  readonly services: TestServices
  killMariadb(): Promise<void>
  restartMariadb(): Promise<void>
  killNats(): Promise<void>
  restartNats(): Promise<void>
}

export async function privateServices(): Promise<PrivateServices> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-private-'))
  const at = { mariadb: join(directory, 'mariadb'), nats: join(directory, 'nats') }
  let [mariadb, nats] = await Promise.all([
    startMariadb(at.mariadb, 'with-parent'),
    startNats(at.nats, 'with-parent'),
  ])
  return {
    services: {
      directory,
      databaseRootUrl: mariadb.rootUrl(),
      natsUrl: nats.url,
      natsLeafUrl: `nats://127.0.0.1:${nats.leafPort}`,
      natsKeys: nats.keys,
    },
    killMariadb: () => kill(mariadb),
    restartMariadb: async () => {
      mariadb = await onSamePort(mariadb, () => startMariadb(at.mariadb, 'with-parent'))
    },
    killNats: () => kill(nats),
    restartNats: async () => {
      nats = await onSamePort(nats, () => startNats(at.nats, 'with-parent'))
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([stopMariadb(at.mariadb), stopNats(at.nats)])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

interface Killable {
  readonly process: ProcessIdentity
  readonly port: number
}

/** As by `kill -9`. Its threads may hold the port for a moment after the process counts as dead. */
async function kill({ process: identity, port }: Killable): Promise<void> {
  process.kill(identity.pid, 'SIGKILL')
  await waitFor(`process ${identity.pid} to die`, () => !isRunning(identity), DEATH_LIMIT_MS)
  const isFree = async () => (await freePort(port)) === port
  await waitFor(`port ${port} to be free`, isFree, DEATH_LIMIT_MS)
}

async function onSamePort<T extends { readonly port: number }>(
  before: T,
  start: () => Promise<T>,
): Promise<T> {
  const now = await start()
  if (now.port !== before.port) throw new Error(`Port ${before.port} was taken meanwhile`)
  return now
}
