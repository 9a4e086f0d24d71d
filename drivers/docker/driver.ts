import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { createLogger, type Logger } from '#common/log.ts'
import type { Driver, DriverEnvironment, Owner } from '../driver.ts'
import type { Firewall } from '../firewall.ts'
import { ImageCache } from '../image-cache.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { ovsAnnouncer } from '../ovn/announce-addresses.ts'
import { type OvnHostSettings, refuseOvnSettings } from '../ovn/host-settings.ts'
import { IntegrationBridge, OVS_DATABASE } from '../ovn/integration-bridge.ts'
import { ovnGuestMetadata } from '../ovn/metadata/metadata-networks.ts'
import { switchStatistics } from '../ovn/switch-statistics.ts'
import { ovsTunnels } from '../ovn/tunnel-test.ts'
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
import { OvnEndpoints } from './networks/ovn-endpoints.ts'
import { dockerPause, reboot, start, stop } from './power.ts'
import { dockerRebuild } from './rebuild.ts'
import { dockerResize } from './resize.ts'
import { dockerSnapshot } from './snapshot.ts'
import { spawn } from './spawn.ts'
import { watch } from './watch.ts'

/** How NICs of containers reach their networks: by bridges of each engine's own, or as ports of the cell's OVN. */
export const NETWORKS = ['host', 'ovn'] as const

export interface DockerSettings extends EndpointSettings, HostShare, OvnHostSettings {
  /** Absent: `host`. */
  readonly network?: (typeof NETWORKS)[number] | undefined
  /** Where the engine looks for its plugins, for `ovn`; absent: where it usually does. */
  readonly pluginDirectory?: string | undefined
  /** Images of the engine that a user may name, as the engine spells them. */
  readonly localImages: readonly string[]
}

const PLUGIN_DIRECTORY = '/run/docker/plugins'

/** The security groups of a port are ACLs of OVN, which the cell writes: a host has nothing to do for them. */
const OVN_FIREWALL: Firewall = {
  apply: async (ports) => ports.map(({ nic }) => nic.portId),
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
    ...(settings.network === 'ovn' && {
      networkEngine: 'ovn',
      firewall: OVN_FIREWALL,
      guestMetadata: ovnGuestMetadata(settings, logger),
      tunnels: ovsTunnels(settings.ovsDatabase, logger),
      addressAnnouncer: ovsAnnouncer(settings.ovsDatabase, logger),
      networkStatistics: switchStatistics(settings),
    }),
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
      await host.ovn?.[Symbol.asyncDispose]()
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
  const endpoint = engineEndpoint(settings)
  if (settings.network === 'ovn' && !endpoint.isLocal)
    throw new Failure(
      'invalid',
      `endpoint: network=ovn needs an engine of this machine, and ${settings.endpoint} is elsewhere. Run the host process on the machine of the engine.`,
    )
  refuseOvnSettings(settings.network, {
    ovs_database: settings.ovsDatabase,
    plugin_directory: settings.pluginDirectory,
    network_namespace: settings.networkNamespace,
  })
  const engine = new Engine(endpoint)
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 })
  const cache = new ImageCache(join(stateDirectory, 'images'), images)
  await cache.prepare()
  const ovn = settings.network === 'ovn' ? await ovnEndpoints(owner, settings, logger) : undefined
  return {
    owner,
    stateDirectory,
    engine,
    images: new EngineImages(engine, cache, settings.localImages),
    networks: new EngineNetworks(engine, owner, ovn),
    ovn,
    diskSizes: new DiskSizesFile(stateDirectory),
    locks: new InstanceLocks(),
    limitsDisk: true,
    logger,
  }
}

/** The logger of the bridge says nothing where the driver has none. */
function ovnEndpoints(
  owner: Owner,
  settings: DockerSettings,
  logger: Logger | undefined,
): Promise<OvnEndpoints> {
  const address = settings.ovsDatabase ?? OVS_DATABASE
  const log = logger ?? createLogger('ovs', 'silent')
  return OvnEndpoints.listen({
    owner,
    bridge: new IntegrationBridge({ address, clock: systemClock, log }),
    pluginDirectory: settings.pluginDirectory ?? PLUGIN_DIRECTORY,
    networkNamespace: settings.networkNamespace,
    logger,
  })
}
