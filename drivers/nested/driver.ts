import { mkdir } from 'node:fs/promises'
import { errorFields, type Logger } from '#common/log.ts'
import type { Driver, DriverEnvironment } from '../driver.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { KeyedLock } from '../keyed-lock.ts'
import { nestedAdopt } from './adopt.ts'
import { nestedDownstream } from './below.ts'
import { Cloud } from './cloud/cloud.ts'
import { FLAVOR_SHOWN_SINCE, showServer } from './compute/cloud-server.ts'
import { ComputeVersions } from './compute/compute-versions.ts'
import { removeDuplicateServers } from './compute/create-server.ts'
import { listServers } from './compute/list-servers.ts'
import { ServerView } from './compute/server-view.ts'
import { nestedConsole, nestedConsoleKinds, nestedConsoleLog } from './console.ts'
import { destroy } from './destroy.ts'
import { nestedDiagnostics } from './diagnostics.ts'
import { nestedFirewall } from './firewall.ts'
import type { NestedHost } from './host.ts'
import { CloudImages } from './image/cloud-images.ts'
import { nestedInterfaces } from './interfaces.ts'
import { inventory } from './inventory.ts'
import { nestedLabels } from './labels.ts'
import { list, watch } from './list.ts'
import { Keypairs } from './map/keypairs.ts'
import { markerKey } from './names.ts'
import { CloudNetworks } from './network/cloud-networks.ts'
import { SecurityGroups } from './network/security-groups.ts'
import {
  nestedCrashDump,
  nestedPassword,
  nestedPause,
  nestedRescue,
  nestedSuspend,
  reboot,
  start,
  stop,
} from './power.ts'
import { nestedRebuild } from './rebuild.ts'
import { Records } from './records.ts'
import { nestedResize } from './resize.ts'
import { CloudFloatingIps } from './routing/cloud-floating-ips.ts'
import { CloudRouters } from './routing/cloud-routers.ts'
import { Outsides } from './routing/outside.ts'
import { nestedRouting } from './routing/routing.ts'
import type { NestedSettings } from './settings.ts'
import { nestedSnapshot } from './snapshot.ts'
import { spawn } from './spawn.ts'
import { PendingCreates } from './volumes/pending-creates.ts'
import { nestedVolumes } from './volumes/volumes.ts'

/**
 * A host whose guests are servers of one project of another cloud: an OpenStack, or another Weir. Returns before the cloud
 * has answered: one that is away makes every call throw `unavailable` until it is back. Throws `invalid` for an address
 * that the settings do not allow.
 */
export async function createNestedDriver(
  environment: DriverEnvironment,
  settings: NestedSettings,
  logger?: Logger,
): Promise<Driver> {
  const host = await createHost(environment, settings, logger)
  return {
    name: 'nested',
    simulated: false,
    inventory: (signal) => inventory(host, signal),
    spawn: (spec, signal) => spawn(host, spec, signal),
    destroy: (id, signal) => destroy(host, id, signal),
    list: (signal) => list(host, signal),
    start: (id, signal) => start(host, id, signal),
    stop: (id, _graceMs, signal) => stop(host, id, signal),
    reboot: (id, how, _graceMs, signal) => reboot(host, id, how, signal),
    watch: (listener) => watch(host, listener),
    pause: nestedPause(host),
    suspend: nestedSuspend(host),
    rescue: nestedRescue(host),
    password: nestedPassword(host),
    crashDump: nestedCrashDump(host),
    diagnostics: nestedDiagnostics(host),
    interfaces: nestedInterfaces(host),
    firewall: nestedFirewall(host),
    routing: nestedRouting(host),
    labels: nestedLabels(host),
    consoleLog: nestedConsoleLog(host),
    console: nestedConsole(host),
    consoleKinds: nestedConsoleKinds(host),
    snapshot: nestedSnapshot(host),
    rebuild: nestedRebuild(host),
    resize: nestedResize(host),
    adopt: nestedAdopt(host),
    imageCopies: host.images,
    volumes: nestedVolumes(host),
    below: nestedDownstream(host),
    async [Symbol.asyncDispose]() {
      await host.view[Symbol.asyncDispose]()
      await host.images[Symbol.asyncDispose]()
      await host.cloud[Symbol.asyncDispose]()
    },
  }
}

async function createHost(
  { owner, stateDirectory, images: source }: DriverEnvironment,
  settings: NestedSettings,
  logger: Logger | undefined,
): Promise<NestedHost> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 })
  const records = await Records.open(stateDirectory)
  const cloud = new Cloud(settings, owner.cellId, (project) => records.stayIn(project))
  const versions = new ComputeVersions(cloud)
  const view = new ServerView({
    marker: markerKey(owner),
    list: async (since, signal) => {
      const microversion = await versions.ifServed(FLAVOR_SHOWN_SINCE, signal)
      return listServers(cloud, { since, microversion }, signal)
    },
    show: async (serverId, signal) => {
      const microversion = await versions.ifServed(FLAVOR_SHOWN_SINCE, signal)
      return showServer(cloud, serverId, signal, microversion)
    },
    everyMs: settings.pollMs,
    onList: (seen) => {
      removeDuplicateServers({ cloud, records, view: seen }).catch((error: unknown) => {
        logger?.warn(errorFields(error), 'a second server of an instance is left')
      })
    },
  })
  const routers = new CloudRouters(cloud)
  return {
    owner,
    settings,
    cloud,
    versions,
    view,
    records,
    images: new CloudImages({ cloud, owner, source, named: settings.images }),
    networks: new CloudNetworks(cloud, settings.mappedNetworks, routers),
    routers,
    floatingIps: new CloudFloatingIps(cloud, owner.hostId),
    outsides: new Outsides(cloud, settings.externalNetworks),
    groups: new SecurityGroups(cloud),
    keypairs: new Keypairs(cloud, versions, owner),
    locks: new InstanceLocks(),
    pendingCreates: await PendingCreates.open(stateDirectory, cloud, settings),
    volumeLocks: new KeyedLock(),
    logger,
  }
}
