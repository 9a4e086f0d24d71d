import { Failure } from '#common/errors.ts'
import { asksForDedicatedCpus } from '#common/hardware-resources.ts'
import { divide } from '#common/numa-providers.ts'
import type { Diagnostics, GuestDiagnostics } from '../guest-diagnostics.ts'
import type { HostMetrics } from '../host-metrics.ts'
import type { GuestTopology, Topology } from '../topology.ts'
import type { Uptime } from '../uptime.ts'
import type { FakeGuest } from './guest.ts'
import type { FakeHost } from './host.ts'

const MIB = 1024 ** 2
const SECOND_NS = 1_000_000_000

/** Figures that are always the same for the same hardware. */
export function fakeDiagnostics(host: FakeHost): Diagnostics {
  return {
    read: (id, signal) =>
      host.faulty('diagnostics', host.target(id), signal, () => {
        const guest = host.guests.get(id)
        if (guest.powerState !== 'running' && guest.powerState !== 'paused')
          throw new Failure('conflict', `Instance ${id} is not running, so it has no diagnostics.`)
        return figures(guest)
      }),
  }
}

function figures({ powerState, hardware, volumes = [] }: FakeGuest): GuestDiagnostics {
  const { vcpus, memoryMb, disks, macAddresses, hasConfigDrive } = hardware
  const cpus = Array.from({ length: vcpus }, (_, id) => ({
    id,
    timeNs: SECOND_NS,
    utilisation: 1,
  }))
  return {
    powerState,
    // Clients know a closed list of drivers; this one simulates a host of virtual machines.
    driver: 'libvirt',
    hypervisor: 'fake',
    hypervisorOs: 'fake',
    uptime: 1,
    hasConfigDrive,
    memory: { maximumMb: memoryMb, usedMb: memoryMb },
    cpus,
    nics: macAddresses.map((macAddress) => ({
      macAddress,
      rxOctets: MIB,
      rxPackets: 1_000,
      rxErrors: 0,
      rxDrop: 0,
      txOctets: MIB,
      txPackets: 1_000,
      txErrors: 0,
      txDrop: 0,
    })),
    disks: Array.from({ length: disks + volumes.length }, () => ({
      readBytes: MIB,
      readRequests: 100,
      writeBytes: MIB,
      writeRequests: 100,
      errors: 0,
    })),
    own: {
      ...Object.fromEntries(cpus.map(({ id, timeNs }) => [`cpu${id}_time`, timeNs])),
      memory: memoryMb * 1024,
    },
  }
}

/** Guests that ask for CPUs of their own have the first ones, all of them, whichever NUMA node those are of. */
export function fakeTopology(host: FakeHost): Topology {
  return {
    read: (id, signal) =>
      host.faulty('topology', host.target(id), signal, () => topologyOf(host.guests.get(id))),
  }
}

function topologyOf({ flavor, hardware, hostNodes }: FakeGuest): GuestTopology | null {
  const isDedicated = asksForDedicatedCpus(flavor.extraSpecs, {})
  if (!isDedicated && hostNodes === undefined) return null
  const vcpus = Array.from({ length: hardware.vcpus }, (_, vcpu) => vcpu)
  const byNode = [...Map.groupBy(vcpus, (vcpu) => hostNodes?.[vcpu] ?? 0)]
  const memory = divide(
    hardware.memoryMb,
    byNode.map(([, of]) => of.length),
  )
  const nodes = byNode.map(([hostNode, of], place) => {
    return { vcpus: of, memoryMb: memory[place]!, hostNode, pins: isDedicated ? of : [] }
  })
  return { pageKib: null, nodes }
}

/** Always the same. */
const UPTIME = ' 08:32:11 up 93 days, 18:25,  0 users,  load average: 0.20, 0.12, 0.14\n'

export function fakeUptime(host: FakeHost): Uptime {
  return { read: (signal) => host.faulty('uptime', undefined, signal, () => UPTIME) }
}

/** What its settings say. */
export function fakeMetrics(host: FakeHost): HostMetrics {
  const metrics = Object.fromEntries(host.settings.metrics)
  return { read: (signal) => host.faulty('metrics', undefined, signal, () => metrics) }
}
