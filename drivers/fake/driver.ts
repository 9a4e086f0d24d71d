import { DEDICATED_CPUS } from '#common/hardware-resources.ts'
import type { InstanceId } from '#common/ids.ts'
import type { NumaNode } from '#common/numa.ts'
import { divide } from '#common/numa-providers.ts'
import type { Driver, HostInventory } from '../driver.ts'
import { fakeAdopt } from './adopt.ts'
import { fakeConsole, fakeConsoleLog } from './console.ts'
import { fakeDiagnostics, fakeMetrics, fakeTopology, fakeUptime } from './diagnostics.ts'
import type { Faults } from './faults.ts'
import type { FakeAttachment } from './guest.ts'
import { type FakeEnvironment, FakeHost, type PlantedGuest } from './host.ts'
import { fakeDiskChanges, fakeImageCopies, fakeSnapshot } from './images.ts'
import { fakeInterfaces, fakeMachineNics } from './interfaces.ts'
import { fakeLiveMove, fakeMove } from './move.ts'
import { fakePassword } from './password.ts'
import { fakeCrashDump, fakePause, fakeSuspend } from './power.ts'
import { fakeRebuild, fakeRescue } from './rebuild.ts'
import { fakeResize } from './resize.ts'
import type { FakeSettings } from './settings.ts'
import { spawn } from './spawn.ts'
import { closeVolumes, fakeVolumes } from './volumes.ts'

export interface FakeDriver extends Driver {
  /** May be changed while the host runs. */
  readonly faults: Faults
  /** As if the host had lost its power and come back: every guest is off, those that were on through no wish. */
  loseHost(): void
  /** As if the guest had ended by itself. */
  crash(id: InstanceId): void
  /** What the guest has of volumes now. */
  volumesOf(id: InstanceId): readonly FakeAttachment[]
  /** Afterwards an unmanaged guest is on the host. */
  plant(guest: PlantedGuest): void
}

/** A host that keeps its guests in memory: for tests, demos and scale. It fails only where a test asks for it. */
export function createFakeDriver(environment: FakeEnvironment, settings: FakeSettings): FakeDriver {
  const host = new FakeHost(environment, settings)
  const { guests, faults } = host
  return {
    name: 'fake',
    simulated: true,
    faults,
    loseHost: () => host.lose(),
    volumesOf: (id) => guests.get(id).volumes ?? [],
    crash: (id) => host.setPower(id, 'crashed', 'crashed'),
    plant: (guest) => void host.unmanagedGuests.set(guest.id, guest),
    inventory: (signal) => host.faulty('inventory', undefined, signal, () => inventoryOf(settings)),
    spawn: (spec, signal) => spawn(host, spec, signal),
    destroy: (id, signal) =>
      host.locks.runDestroy(id, signal, () =>
        host.faulty('destroy', host.target(id), signal, () => {
          host.incoming.delete(id)
          closeVolumes(host, id)
          guests.remove(id)
        }),
      ),
    list: (signal) =>
      host.faulty('list', undefined, signal, () =>
        guests.all().map((guest) => ({
          id: guest.id,
          powerState: faults.reported(guest, guest.powerState),
          ...(guest.endedWithHost === true ? { endedWithHost: true } : {}),
          ...(guest.hostNodes && { hostNodes: guest.hostNodes }),
        })),
      ),
    start: (id, signal) =>
      host.change('start', id, signal, () => {
        if (guests.get(id).powerState !== 'running') host.setPower(id, 'running', 'powered on')
      }),
    stop: (id, _graceMs, signal) =>
      host.change('stop', id, signal, () => {
        if (guests.get(id).powerState !== 'shutdown') host.setPower(id, 'shutdown', 'powered off')
      }),
    reboot: (id, how, _graceMs, signal) =>
      host.change('reboot', id, signal, () => host.setPower(id, 'running', `rebooted (${how})`)),
    watch: (listener) => {
      const stop = guests.listen(listener)
      return { [Symbol.asyncDispose]: async () => stop() }
    },
    pause: fakePause(host),
    suspend: fakeSuspend(host),
    rescue: fakeRescue(host),
    password: fakePassword(host),
    crashDump: fakeCrashDump(host),
    diagnostics: fakeDiagnostics(host),
    topology: fakeTopology(host),
    uptime: fakeUptime(host),
    metrics: fakeMetrics(host),
    interfaces: fakeInterfaces(host),
    consoleLog: fakeConsoleLog(host),
    console: fakeConsole(host),
    snapshot: fakeSnapshot(host),
    diskChanges: fakeDiskChanges(host),
    rebuild: fakeRebuild(host),
    resize: fakeResize(host),
    move: fakeMove(host),
    liveMove: fakeLiveMove(host),
    adopt: fakeAdopt(host),
    imageCopies: fakeImageCopies(host),
    ...(host.volumeFolder && { volumes: fakeVolumes(host, host.volumeFolder) }),
    ...(settings.machines.size > 0 && { machineNics: fakeMachineNics(host) }),
    [Symbol.asyncDispose]: async () => guests[Symbol.dispose](),
  }
}

/** Even shares, so that the nodes have all that the host says it has. */
function numaOf({ numaNodes, vcpus, memoryMb, resources }: FakeSettings): readonly NumaNode[] {
  const share = (amount: number) => divide(amount, new Array<number>(numaNodes).fill(1))
  const [shared, dedicated] = [share(vcpus), share(resources.get(DEDICATED_CPUS) ?? 0)]
  const memory = share(memoryMb)
  const pages = [...resources].flatMap(([name, mib]) => {
    const [, kib] = /^CUSTOM_HUGEPAGE_(\d+)K_MB$/.exec(name) ?? []
    return kib === undefined ? [] : [[kib, share((mib * 1024) / Number(kib))] as const]
  })
  return Array.from({ length: numaNodes }, (_, id) => ({
    id,
    cpus: shared[id]! + dedicated[id]!,
    dedicatedCpus: dedicated[id]!,
    memoryMb: memory[id]!,
    pages: Object.fromEntries(pages.map(([kib, counts]) => [kib, counts[id]!])),
  }))
}

function inventoryOf(settings: FakeSettings): HostInventory {
  const { vcpus, memoryMb, diskGb, hostname, resources, machineSegments } = settings
  const machines = [...settings.machines].map(([resourceClass, total]) => {
    return { resourceClass, total, vcpus, memoryMb, diskGb }
  })
  const parts = machines.length === 0 ? 1 : machines.reduce((sum, { total }) => sum + total, 0)
  return {
    vcpus: vcpus * parts,
    memoryMb: memoryMb * parts,
    diskGb: diskGb * parts,
    ...(machines.length > 0 && { machines }),
    ...(machineSegments && { machineSegments }),
    resources: Object.fromEntries(resources),
    ...(settings.numaNodes > 0 && { numa: numaOf(settings) }),
    hypervisor: { type: 'fake', version: 1_000_000, hostname },
    architecture: 'x86_64',
    cpu: {
      vendor: 'fake',
      model: 'fake',
      features: [],
      topology: { sockets: 1, cores: vcpus, threads: 1 },
    },
    imageFormats: ['qcow2', 'raw'],
    traits: [
      'COMPUTE_NODE',
      'COMPUTE_RESCUE_BFV',
      'COMPUTE_IMAGE_TYPE_QCOW2',
      'COMPUTE_IMAGE_TYPE_RAW',
    ],
  }
}
