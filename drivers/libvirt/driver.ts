import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { abortable } from '../abortable.ts'
import type { Driver, DriverEnvironment } from '../driver.ts'
import { ImageCache } from '../image-cache.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { KeyedLock } from '../keyed-lock.ts'
import { Keyring } from '../keyring.ts'
import { ovsAnnouncer } from '../ovn/announce-addresses.ts'
import { type OvnHostSettings, refuseOvnSettings } from '../ovn/host-settings.ts'
import { ovnGuestMetadata } from '../ovn/metadata/metadata-networks.ts'
import { switchStatistics } from '../ovn/switch-statistics.ts'
import { ovsTunnels } from '../ovn/tunnel-test.ts'
import { libvirtAdopt } from './adopt.ts'
import { libvirtBackupChanges } from './backup-changes.ts'
import { libvirtConsole, libvirtConsoleLog } from './console.ts'
import { destroy } from './destroy.ts'
import { libvirtDiagnostics } from './diagnostics.ts'
import { libvirtDiskChanges } from './disk-changes.ts'
import { deviceCalls } from './domains/device-calls.ts'
import { domainCalls } from './domains/domain-calls.ts'
import type { VirtType } from './domains/domain-xml.ts'
import { listOwnDomains } from './domains/own-domains.ts'
import { filterCalls } from './firewall/filter-calls.ts'
import { libvirtFirewall } from './firewall/firewall.ts'
import { type LibvirtHost, libvirtTopology, libvirtUptime } from './host.ts'
import { arrivalsFolder, instancesFolder, screensFolder } from './instance-files.ts'
import { libvirtInterfaces } from './interfaces.ts'
import { inventory } from './inventory.ts'
import { libvirtIoErrors, noSpaceOf } from './io-errors.ts'
import { libvirtMetrics } from './metrics.ts'
import { libvirtLiveMove } from './move/live-move.ts'
import { libvirtMove } from './move/move.ts'
import { type GuestNetworks, OvnNetworks, type OvsDatapath } from './networks/guest-networks.ts'
import { HostNetworks } from './networks/host-networks.ts'
import { networkCalls } from './networks/network-calls.ts'
import { refuseOtherNetworks } from './networks/refuse-other-networks.ts'
import { nodeCalls } from './node-calls.ts'
import { libvirtPassword } from './password.ts'
import type { PassthroughDevices } from './placement/pci-devices.ts'
import { withHostNodes } from './placement/report-nodes.ts'
import { libvirtCrashDump, libvirtPause, libvirtSuspend, reboot, start, stop } from './power.ts'
import { libvirtRebuild } from './rebuild.ts'
import { libvirtRescue } from './rescue.ts'
import { libvirtResize } from './resize.ts'
import type { DomainRef } from './rpc/refs.ts'
import { LibvirtSession } from './session.ts'
import { libvirtSnapshot } from './snapshot.ts'
import { spawn } from './spawn.ts'
import { defaultPeerUri, parseLibvirtUri, parsePeerUri } from './uri.ts'
import { probeVirtType } from './virt-type.ts'
import { diskCalls } from './volumes/disk-calls.ts'
import { secretCalls } from './volumes/encryption/secret-calls.ts'
import { storeOn } from './volumes/open-store.ts'
import { poolCalls } from './volumes/pool-calls.ts'
import { PoolSessions } from './volumes/pool-sessions.ts'
import { Pools } from './volumes/pools.ts'
import { withReleased } from './volumes/released.ts'
import { libvirtVolumes } from './volumes/volumes.ts'
import { watch } from './watch.ts'

/** The probe ends by itself long before. */
const PROBE_LIMIT_MS = 60_000

export const VIRT_TYPES = ['auto', 'qemu', 'kvm'] as const
export const NETWORKS = ['host', 'ovn'] as const

export interface LibvirtSettings extends OvnHostSettings {
  /** Such as `qemu:///system`, `qemu+unix:///system?socket=PATH` or `qemu+tls://host/system?pkipath=FOLDER`. */
  readonly uri: string
  /** `auto`: KVM if a test guest boots with it, otherwise emulation. */
  readonly virtType: (typeof VIRT_TYPES)[number]
  /** `ovn`: the cell's networks, which span hosts; `host`, as usual: bridges of this host alone. */
  readonly network?: (typeof NETWORKS)[number]
  /** With `ovn`: the `datapath_type` of its bridges; absent: in the kernel. */
  readonly ovsDatapath?: OvsDatapath
  /** How the daemons of other hosts reach this host's, such as `qemu+tls://host/system`; absent: as `uri` says. */
  readonly liveUri?: string | undefined
  /** A folder, the same on all of them, in which this and other hosts have their state directories. */
  readonly sharedFolder?: string | undefined
  /** Storage pools with volumes, by name; none: a pool of the host's own. */
  readonly volumePools?: readonly string[] | undefined
  /** The folder of Ceph's programs, for pools of Ceph; absent: where programs usually are. */
  readonly cephPrograms?: string | undefined
  /** A Linux kernel that `auto` may start to find out; without it the newest in /boot. */
  readonly probeKernel?: string | undefined
  /** The CPU guests are shown: `host-model`, `host-passthrough` or one of libvirt's names; absent: as is usual. */
  readonly cpuModel?: string | undefined
  /** CPUs that run nothing but guests that ask for CPUs of their own; absent: none. */
  readonly dedicatedCpus?: readonly number[] | undefined
  /** PCI devices that guests may be lent; absent: none. */
  readonly pciDevices?: readonly PassthroughDevices[] | undefined
  /** The host's share of the machine; absent: the whole machine. */
  readonly vcpus?: number | undefined
  readonly memoryMb?: number | undefined
  readonly diskGb?: number | undefined
}

/**
 * A host whose guests are libvirt domains of this machine. Returns before the daemon has answered: a daemon that is
 * away makes every call throw `unavailable` until it is back. Throws `invalid` for a URI that cannot be used.
 */
export async function createLibvirtDriver(
  environment: DriverEnvironment,
  settings: LibvirtSettings,
  logger?: Logger,
): Promise<Driver> {
  const host = await createHost(environment, settings, logger)
  const networksAgree = onceTrue((signal) =>
    refuseOtherNetworks(host, settings.network ?? 'host', signal),
  )
  return {
    name: 'libvirt',
    simulated: false,
    ...(settings.network === 'ovn' && { networkEngine: 'ovn' as const }),
    ...(reachesSwitch(host, settings) && {
      guestMetadata: ovnGuestMetadata(settings, logger),
      tunnels: ovsTunnels(settings.ovsDatabase, logger),
      addressAnnouncer: ovsAnnouncer(settings.ovsDatabase, logger),
      networkStatistics: switchStatistics(settings),
    }),
    inventory: async (signal) => {
      await networksAgree(signal)
      return inventory(host, settings, signal)
    },
    spawn: (spec, signal) => spawn(host, spec, signal),
    destroy: (id, signal) => destroy(host, id, signal),
    list: (signal) => list(host, signal),
    start: (id, signal) => start(host, id, signal),
    stop: (id, graceMs, signal) => stop(host, id, graceMs, signal),
    reboot: (id, how, graceMs, signal) => reboot(host, id, { how, graceMs }, signal),
    watch: (listener) => watch(host, listener),
    pause: libvirtPause(host),
    suspend: libvirtSuspend(host),
    rescue: libvirtRescue(host),
    password: libvirtPassword(host),
    crashDump: libvirtCrashDump(host),
    diagnostics: libvirtDiagnostics(host),
    topology: libvirtTopology(host),
    uptime: libvirtUptime,
    metrics: libvirtMetrics(host.session),
    interfaces: libvirtInterfaces(host),
    firewall: libvirtFirewall(host),
    consoleLog: libvirtConsoleLog(host),
    console: libvirtConsole(host),
    snapshot: libvirtSnapshot(host),
    diskChanges: libvirtDiskChanges(host),
    backupChanges: libvirtBackupChanges(host),
    rebuild: libvirtRebuild(host),
    resize: libvirtResize(host),
    adopt: libvirtAdopt(host),
    move: libvirtMove(host),
    liveMove: libvirtLiveMove(host),
    imageCopies: host.images,
    volumes: libvirtVolumes(host),
    ioErrors: libvirtIoErrors(host),
    async [Symbol.asyncDispose]() {
      await host.images[Symbol.asyncDispose]()
      await host.poolSessions[Symbol.asyncDispose]()
      await host.slowSession[Symbol.asyncDispose]()
      await host.session[Symbol.asyncDispose]()
    },
  }
}

async function list(host: LibvirtHost, signal: AbortSignal) {
  const fullOf = (domain: DomainRef, within: AbortSignal) => noSpaceOf(host, domain, within)
  const reports = await listOwnDomains(host.domains, host.owner, fullOf, signal)
  return withHostNodes(host, await withReleased(host, reports, signal), signal)
}

/** Does the work until it has succeeded once in this process. */
function onceTrue(work: (signal: AbortSignal) => Promise<void>): typeof work {
  let isDone = false
  return async (signal) => {
    if (isDone) return
    await work(signal)
    isDone = true
  }
}

/** The switch of a machine elsewhere is out of reach. */
function reachesSwitch({ address }: LibvirtHost, { network }: LibvirtSettings): boolean {
  return network === 'ovn' && address.local
}

async function createHost(
  environment: DriverEnvironment,
  settings: LibvirtSettings,
  logger: Logger | undefined,
): Promise<LibvirtHost> {
  const { owner, stateDirectory } = environment
  const address = parseLibvirtUri(settings.uri)
  refuseOvnSettings(settings.network, {
    ovs_database: settings.ovsDatabase,
    network_namespace: settings.networkNamespace,
  })
  const { sharedFolder } = settings
  if (sharedFolder !== undefined && dirname(resolve(stateDirectory)) !== resolve(sharedFolder))
    throw new Failure(
      'invalid',
      `shared_folder: ${stateDirectory} is not a directory in ${sharedFolder}.`,
    )
  for (const folder of [instancesFolder, screensFolder, arrivalsFolder])
    await mkdir(folder(stateDirectory), { recursive: true, mode: 0o711 })
  const images = new ImageCache(join(stateDirectory, 'images'), environment.images)
  await images.prepare()
  const session = new LibvirtSession(address, logger)
  const slowSession = new LibvirtSession(address)
  const poolSessions = new PoolSessions(address)
  const host: LibvirtHost = {
    owner,
    stateDirectory,
    sharedFolder,
    address,
    peer: parsePeerUri(settings.liveUri ?? defaultPeerUri(settings.uri)),
    session,
    slowSession,
    poolSessions,
    domains: domainCalls(session, slowSession),
    devices: deviceCalls(session, slowSession),
    disks: diskCalls(session, slowSession),
    networks: networksOf(environment, settings, slowSession, logger),
    images,
    locks: new InstanceLocks(),
    pools: new Pools(
      environment,
      { names: settings.volumePools ?? [], cephPrograms: settings.cephPrograms },
      poolCalls(session, poolSessions),
      logger,
    ),
    openStore: async (id, signal) => storeOn(host, await host.pools.get(id, signal)),
    keyring: new Keyring(secretCalls(session)),
    volumeLocks: new KeyedLock(),
    cpus: { model: settings.cpuModel, dedicated: settings.dedicatedCpus ?? [] },
    passthroughDevices: settings.pciDevices ?? [],
    placing: new KeyedLock(),
    leaving: new Set(),
    changingOver: new Set(),
    // A probe here would say nothing about a machine elsewhere.
    virtType: address.local
      ? virtTypeOf(session, stateDirectory, settings, logger)
      : async () => (settings.virtType === 'kvm' ? 'kvm' : 'qemu'),
    logger,
  }
  return host
}

function networksOf(
  { owner }: DriverEnvironment,
  { network = 'host', ovsDatapath = 'system' }: LibvirtSettings,
  session: LibvirtSession,
  logger: Logger | undefined,
): GuestNetworks {
  if (network === 'ovn') return new OvnNetworks(ovsDatapath)
  return new HostNetworks(networkCalls(session), filterCalls(session), owner, logger)
}

/**
 * Settled at most once per process. A probe under way is shared and outlives a caller that gives up, so impatient
 * callers cannot keep it from ending; one that failed is repeated by the next caller.
 */
function virtTypeOf(
  session: LibvirtSession,
  stateDirectory: string,
  settings: LibvirtSettings,
  logger: Logger | undefined,
): (signal: AbortSignal) => Promise<VirtType> {
  const { virtType, probeKernel } = settings
  if (virtType !== 'auto') return async () => virtType
  let settled: Promise<VirtType> | undefined
  const probe = async () => {
    const signal = AbortSignal.timeout(PROBE_LIMIT_MS)
    const qemuVersion = String(await nodeCalls(session).hypervisorVersion(signal))
    const options = { stateDirectory, qemuVersion, kernel: probeKernel }
    const verdict = await probeVirtType(options, signal)
    logger?.info(verdict, 'how guests run was settled')
    return verdict.virtType
  }
  return async (signal) => {
    settled ??= probe().catch((error: unknown) => {
      settled = undefined
      throw error
    })
    return abortable(settled, signal)
  }
}
