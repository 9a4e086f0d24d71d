import { isFailure } from '#common/errors.ts'
import type { HostInventory } from '../driver.ts'
import type { MachineClass } from '../machine-class.ts'
import type { MachineNics } from '../machine-nics.ts'
import { MACHINE_EXTRA_SPECS, MACHINE_IMAGE_PROPERTIES } from '../machine-properties.ts'
import { commonTraits, distinctTraits } from '../machine-traits.ts'
import { DISK_FORMATS } from './deploy/root-image.ts'
import type { BaremetalHost } from './host.ts'
import { assignNics } from './nodes/assign-nics.ts'
import { isOffered, type Node, resourceClassOf, sizeOf, traitsOf } from './nodes/node.ts'

/** The machines that servers have or could get. Throws `unavailable` when not one BMC answers. */
export async function inventory(host: BaremetalHost, signal: AbortSignal): Promise<HostInventory> {
  signal.throwIfAborted()
  await someAnswers(host.nodes.all(), signal)
  const offered = host.nodes.all().filter((node) => isOffered(node))
  const machines = machineClasses(offered)
  const sum = (amount: 'vcpus' | 'memoryMb' | 'diskGb') =>
    machines.reduce((total, each) => total + each.total * each[amount], 0)
  const [first] = offered
  return {
    vcpus: sum('vcpus'),
    memoryMb: sum('memoryMb'),
    diskGb: sum('diskGb'),
    machines,
    ...(host.network === 'ovn' && { machineSegments: segmentsOf(offered) }),
    hypervisor: { type: 'baremetal', version: 1, hostname: host.hostname },
    architecture: first?.record.parts?.architecture ?? 'x86_64',
    cpu: {
      vendor: '',
      model: first?.record.parts?.cpuModel ?? '',
      features: [],
      topology: { sockets: Math.max(1, offered.length), cores: 1, threads: 1 },
    },
    imageFormats: [...DISK_FORMATS, 'iso'],
    traits: commonTraits(offered.map(traitsOf)),
    extraSpecs: MACHINE_EXTRA_SPECS,
    imageProperties: MACHINE_IMAGE_PROPERTIES,
    machineTraits: distinctTraits(offered.map(traitsOf)),
  }
}

/** Throws the last failure when there are machines and not one of them can be asked. */
async function someAnswers(nodes: readonly Node[], signal: AbortSignal): Promise<void> {
  if (nodes.length === 0) return
  try {
    await Promise.any(nodes.map(({ power }) => power.isOn(signal)))
  } catch (error) {
    signal.throwIfAborted()
    const silent = (error as AggregateError).errors.find((one) => isFailure(one, 'unavailable'))
    throw silent ?? error
  }
}

/** Machines of one class stand in for each other, so each counts as the least of them. */
function machineClasses(nodes: readonly Node[]): readonly MachineClass[] {
  const classes = new Map<string, MachineClass>()
  for (const node of nodes) {
    const resourceClass = resourceClassOf(node)
    if (resourceClass === undefined || node.record.parts === null) continue
    const size = sizeOf(node.record.parts)
    const { total, ...least } = classes.get(resourceClass) ?? { ...size, total: 0 }
    classes.set(resourceClass, {
      resourceClass,
      total: total + 1,
      vcpus: Math.min(least.vcpus, size.vcpus),
      memoryMb: Math.min(least.memoryMb, size.memoryMb),
      diskGb: Math.min(least.diskGb, size.diskGb),
    })
  }
  return [...classes.values()].toSorted((a, b) => (a.resourceClass < b.resourceClass ? -1 : 1))
}

function segmentsOf(nodes: readonly Node[]): readonly string[] {
  const nics = nodes.flatMap(({ enrolled }) => enrolled.nics ?? [])
  return [...new Set(nics.map(({ segment }) => segment))].toSorted()
}

export function baremetalMachineNics({ nodes, network }: BaremetalHost): MachineNics {
  return {
    macAddresses: async (id, ports, signal) => {
      signal.throwIfAborted()
      return assignNics(nodes.get(id), ports, network)
    },
  }
}
