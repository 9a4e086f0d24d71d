import type { HostInventory } from '../driver.ts'
import { IMAGE_FORMATS } from '../image-header.ts'
import type { MachineClass } from '../machine-class.ts'
import { MACHINE_EXTRA_SPECS, MACHINE_IMAGE_PROPERTIES } from '../machine-properties.ts'
import { commonTraits, distinctTraits } from '../machine-traits.ts'
import { fits, ISO } from './deployable.ts'
import { heldNodes } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { classOf, type IronicNode, isFree } from './ironic-node.ts'

/** The nodes that servers of this host have or could get. Throws `unavailable` while ironic is silent. */
export async function inventory(host: IronicHost, signal: AbortSignal): Promise<HostInventory> {
  const held = new Set((await heldNodes(host, signal)).map(({ uuid }) => uuid))
  const all = await host.client.nodes(signal)
  const offered = all.filter((node) => held.has(node.uuid) || isFree(node))
  const machines = machineClasses(offered)
  const sum = (amount: 'vcpus' | 'memoryMb' | 'diskGb') =>
    machines.reduce((total, each) => total + each.total * each[amount], 0)
  return {
    vcpus: sum('vcpus'),
    memoryMb: sum('memoryMb'),
    diskGb: sum('diskGb'),
    machines,
    hypervisor: { type: 'ironic', version: 1, hostname: host.hostname },
    architecture: offered[0]?.properties.cpu_arch ?? 'x86_64',
    cpu: {
      vendor: '',
      model: '',
      features: [],
      topology: { sockets: Math.max(1, offered.length), cores: 1, threads: 1 },
    },
    imageFormats: [...IMAGE_FORMATS, ...(offered.some(isLiveOnly) ? [ISO] : [])],
    traits: commonTraits(offered.map(traitsOf)),
    extraSpecs: MACHINE_EXTRA_SPECS,
    imageProperties: MACHINE_IMAGE_PROPERTIES,
    machineTraits: distinctTraits(offered.map(traitsOf)),
  }
}

function isLiveOnly(node: IronicNode): boolean {
  return fits(node, { kind: 'live' })
}

/** Nodes of one class stand in for each other, so each counts as the least of them. */
function machineClasses(nodes: readonly IronicNode[]): readonly MachineClass[] {
  const classes = Map.groupBy(nodes, (node) => classOf(node) ?? '')
  classes.delete('')
  return [...classes]
    .map(([resourceClass, group]) => {
      const least = (name: 'cpus' | 'memory_mb' | 'local_gb') =>
        Math.min(...group.map(({ properties }) => Math.trunc(Number(properties[name] ?? 0)) || 0))
      const [vcpus, memoryMb, diskGb] = [least('cpus'), least('memory_mb'), least('local_gb')]
      return { resourceClass, total: group.length, vcpus, memoryMb, diskGb }
    })
    .toSorted((a, b) => (a.resourceClass < b.resourceClass ? -1 : 1))
}

function traitsOf({ traits = [] }: IronicNode): readonly string[] {
  return traits
}
