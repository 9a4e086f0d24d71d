import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '#common/log.ts'
import type { Driver, DriverEnvironment } from '../driver.ts'
import { ImageCache } from '../image-cache.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { watch } from '../power-watch.ts'
import { IronicClient } from './client.ts'
import { destroy } from './destroy.ts'
import type { IronicHost } from './host.ts'
import { ImageServer } from './image-server.ts'
import { inventory } from './inventory.ts'
import { list } from './list.ts'
import { ironicMachineNics } from './machine-nics.ts'
import { reboot, start, stop, watchPower } from './power.ts'
import { ironicRebuild } from './rebuild.ts'
import type { IronicSettings } from './settings.ts'
import { spawn } from './spawn.ts'

const MINUTE_MS = 60_000

/** A host whose guests have whole machines that an ironic looks after. Ironic need not be there yet. */
export async function createIronicDriver(
  { owner, stateDirectory, images }: DriverEnvironment,
  settings: IronicSettings,
  logger?: Logger,
): Promise<Driver> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 })
  await using owned = new AsyncDisposableStack()
  const cache = owned.use(new ImageCache(join(stateDirectory, 'images'), images))
  await cache.prepare()
  const host: IronicHost = {
    owner,
    client: owned.use(new IronicClient(settings)),
    images: cache,
    imageServer: owned.use(await ImageServer.start(settings, logger)),
    locks: new InstanceLocks(),
    listeners: new Set(),
    lastReported: new Map(),
    deployMs: settings.deployMinutes * MINUTE_MS,
    hostname: settings.hostname,
    logger,
  }
  const ending = new AbortController()
  const watching = watchPower(host, ending.signal)
  owned.defer(async () => {
    ending.abort()
    await watching
  })
  const parts = owned.move()
  return {
    name: 'ironic',
    simulated: false,
    inventory: (signal) => inventory(host, signal),
    spawn: (spec, signal) => spawn(host, spec, signal),
    destroy: (id, signal) => destroy(host, id, signal),
    list: (signal) => list(host, signal),
    start: (id, signal) => start(host, id, signal),
    stop: (id, graceMs, signal) => stop(host, id, graceMs, signal),
    reboot: (id, how, graceMs, signal) => reboot(host, id, { how, graceMs }, signal),
    watch: (listener) => watch(host, listener),
    rebuild: ironicRebuild(host),
    machineNics: ironicMachineNics(host),
    imageCopies: host.images,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
