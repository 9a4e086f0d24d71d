import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '#common/log.ts'
import { secretsOf } from '#common/secrets.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { Driver, DriverEnvironment } from '../driver.ts'
import { ImageCache } from '../image-cache.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { ovnGuestMetadata } from '../ovn/metadata/metadata-networks.ts'
import { switchStatistics } from '../ovn/switch-statistics.ts'
import { ovsTunnels } from '../ovn/tunnel-test.ts'
import { watch } from '../power-watch.ts'
import { baremetalConsole, baremetalConsoleLog } from './console.ts'
import { destroy } from './destroy.ts'
import type { BaremetalHost } from './host.ts'
import { baremetalMachineNics, inventory } from './inventory.ts'
import { list } from './list.ts'
import { BootServer } from './netboot/boot-server.ts'
import { type KeptBoot, LiveBoots } from './netboot/live-boots.ts'
import { NodePool } from './nodes/node-pool.ts'
import { NodeWork } from './nodes/node-work.ts'
import { baremetalNodes } from './nodes.ts'
import { reboot, start, stop, watchPower } from './power.ts'
import { baremetalRebuild } from './rebuild.ts'
import { SerialLines } from './serial/serial-lines.ts'
import type { BaremetalSettings } from './settings.ts'
import { spawn } from './spawn.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

/**
 * A host whose guests have whole machines. Returns before any machine has answered; those that were never seen are
 * inspected and cleaned meanwhile. Throws for nodes that cannot be read, and when the boot server cannot listen.
 */
export async function createBaremetalDriver(
  environment: DriverEnvironment,
  settings: BaremetalSettings,
  logger?: Logger,
): Promise<Driver> {
  await using owned = new AsyncDisposableStack()
  const host = await createHost(environment, settings, owned, logger)
  const ending = new AbortController()
  const watching = watchPower(host, ending.signal)
  owned.defer(async () => {
    ending.abort()
    await watching
  })
  const work = owned.use(new NodeWork(host))
  for (const node of host.nodes.all()) {
    if (node.record.state === 'active') host.lines.start(node)
    work.begin(node)
  }
  const parts = owned.move()
  return {
    name: 'baremetal',
    simulated: false,
    ...(settings.network === 'ovn' && {
      networkEngine: 'ovn',
      guestMetadata: ovnGuestMetadata(settings, logger),
      tunnels: ovsTunnels(settings.ovsDatabase, logger),
      networkStatistics: switchStatistics(settings),
    }),
    inventory: (signal) => inventory(host, signal),
    spawn: (spec, signal) => spawn(host, work, spec, signal),
    destroy: (id, signal) => destroy(host, id, signal),
    list: (signal) => list(host, signal),
    start: (id, signal) => start(host, id, signal),
    stop: (id, graceMs, signal) => stop(host, id, graceMs, signal),
    reboot: (id, how, graceMs, signal) => reboot(host, id, { how, graceMs }, signal),
    watch: (listener) => watch(host, listener),
    console: baremetalConsole(host),
    consoleKinds: {
      has: async (id, kind) => kind === 'serial' && host.lines.get(id) !== undefined,
    },
    consoleLog: baremetalConsoleLog(host),
    rebuild: baremetalRebuild(host),
    nodes: baremetalNodes(host, work),
    machineNics: baremetalMachineNics(host),
    imageCopies: host.images,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** Opens the host; its resources are added to `owned`. */
async function createHost(
  { stateDirectory, images }: DriverEnvironment,
  settings: BaremetalSettings,
  owned: AsyncDisposableStack,
  logger: Logger | undefined,
): Promise<BaremetalHost> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 })
  const nodes = owned.use(await NodePool.open(stateDirectory, secretsOf(settings.secretKey)))
  const cache = owned.use(new ImageCache(join(stateDirectory, 'images'), images))
  await cache.prepare()
  const liveBoots = new LiveBoots(join(stateDirectory, 'boots'))
  const bootServer = owned.use(
    await BootServer.start(
      {
        publicUrl: withoutTrailing(settings.bootUrl, '/'),
        address: settings.bootAddress,
        port: settings.bootPort,
        kernelPath: settings.ramdiskKernel,
        initrdPath: settings.ramdiskInitrd,
        kernelParameters: settings.kernelAppendParams,
        liveBoots: () => liveBootsOf(nodes, liveBoots),
      },
      logger,
    ),
  )
  return {
    images: cache,
    nodes,
    bootServer,
    liveBoots,
    lines: owned.use(new SerialLines(join(stateDirectory, 'consoles'))),
    locks: new InstanceLocks(),
    listeners: new Set(),
    cleans: settings.cleaning === 'zero',
    taskMs: settings.taskMinutes * MINUTE_MS,
    retryForMs: settings.bmcSeconds * SECOND_MS,
    network: settings.network,
    provisioningNetwork: settings.provisioningNetwork,
    hostname: settings.hostname,
    logger,
  }
}

async function liveBootsOf(
  nodes: NodePool,
  boots: LiveBoots,
): Promise<ReadonlyMap<string, KeptBoot>> {
  const found = new Map<string, KeptBoot>()
  for (const { record, enrolled } of nodes.all()) {
    const boot = record.instance === null ? undefined : await boots.find(record.instance)
    if (boot !== undefined) found.set(enrolled.macAddress, boot)
  }
  return found
}
