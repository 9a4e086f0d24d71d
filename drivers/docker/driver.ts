import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '#common/log.ts'
import type { Driver, DriverEnvironment } from '../driver.ts'
import { ImageCache } from '../image-cache.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { dockerConsole, dockerConsoleLog } from './console.ts'
import { destroy } from './destroy.ts'
import { dockerDiagnostics } from './diagnostics.ts'
import { DiskSizesFile } from './disk-sizes.ts'
import { type EndpointSettings, engineEndpoint } from './engine/endpoint.ts'
import { Engine } from './engine/engine.ts'
import type { DockerHost } from './host.ts'
import { EngineImages } from './images/engine-images.ts'
import { dockerInterfaces } from './interfaces.ts'
import { type HostShare, inventory } from './inventory.ts'
import { list } from './list.ts'
import { EngineNetworks } from './networks/engine-networks.ts'
import { dockerPause, reboot, start, stop } from './power.ts'
import { dockerRebuild } from './rebuild.ts'
import { dockerResize } from './resize.ts'
import { dockerSnapshot } from './snapshot.ts'
import { spawn } from './spawn.ts'
import { watch } from './watch.ts'

export interface DockerSettings extends EndpointSettings, HostShare {
  /** Images of the engine that a user may name, as the engine spells them. */
  readonly localImages: readonly string[]
}

/**
 * A host whose guests are containers of a Docker engine, here or elsewhere. Returns before the engine has answered: an
 * engine that is away makes every call throw `unavailable` until it is back. Throws `invalid` for an address that cannot
 * be used.
 */
export async function createDockerDriver(
  environment: DriverEnvironment,
  settings: DockerSettings,
  logger?: Logger,
): Promise<Driver> {
  const host = await createHost(environment, settings, logger)
  return {
    name: 'docker',
    simulated: false,
    inventory: (signal) => inventory(host, settings, signal),
    spawn: (spec, signal) => spawn(host, spec, signal),
    destroy: (id, signal) => destroy(host, id, signal),
    list: (signal) => list(host, signal),
    start: (id, signal) => start(host, id, signal),
    stop: (id, graceMs, signal) => stop(host, id, graceMs, signal),
    reboot: (id, how, graceMs, signal) => reboot(host, id, { how, graceMs }, signal),
    watch: (listener) => watch(host, listener),
    pause: dockerPause(host),
    diagnostics: dockerDiagnostics(host),
    interfaces: dockerInterfaces(host),
    console: dockerConsole(host),
    consoleKinds: { has: async (_id, kind) => kind === 'serial' },
    consoleLog: dockerConsoleLog(host),
    snapshot: dockerSnapshot(host),
    rebuild: dockerRebuild(host),
    resize: dockerResize(host),
    imageCopies: host.images,
    async [Symbol.asyncDispose]() {
      await host.images[Symbol.asyncDispose]()
      await host.engine[Symbol.asyncDispose]()
    },
  }
}

async function createHost(
  { owner, stateDirectory, images }: DriverEnvironment,
  settings: DockerSettings,
  logger: Logger | undefined,
): Promise<DockerHost> {
  const engine = new Engine(engineEndpoint(settings))
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 })
  const cache = new ImageCache(join(stateDirectory, 'images'), images)
  await cache.prepare()
  return {
    owner,
    stateDirectory,
    engine,
    images: new EngineImages(engine, cache, settings.localImages),
    networks: new EngineNetworks(engine, owner),
    diskSizes: new DiskSizesFile(stateDirectory),
    locks: new InstanceLocks(),
    limitsDisk: true,
    logger,
  }
}
