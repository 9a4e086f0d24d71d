import { element, type XmlElement } from '../xml/element.ts'
import type { GuestNode, GuestPlacement } from './place-guest.ts'
import type { CpuTopology } from './requested-placement.ts'

const KIB_PER_MIB = 1024

/** Which of the host's memory a guest has, and for each of its CPUs which of the host's. */
export function placementElements({ pins, nodes, pageKib }: GuestPlacement): readonly XmlElement[] {
  return [
    ...(pageKib === undefined ? [] : [pages(pageKib)]),
    ...(pins === undefined ? [] : [pinning(pins)]),
    ...(nodes === undefined ? [] : [memoryOf(nodes)]),
  ]
}

/** Parts of the `cpu` element: what the guest sees of sockets and memory nodes. */
export function seenElements(
  topology: CpuTopology | null,
  { nodes }: GuestPlacement,
): readonly XmlElement[] {
  return [
    ...(topology === null ? [] : [element('topology', { ...topology })]),
    ...(nodes === undefined ? [] : [element('numa', {}, ...nodes.map(seenNode))]),
  ]
}

/** Parts of the `devices` element: the host's devices that the guest has; their own drivers let go of them meanwhile. */
export function hostdevElements({ devices = [] }: GuestPlacement): readonly XmlElement[] {
  return devices.map((device) => {
    const [domain, bus, slot, fn] = device.split(/[:.]/).map((part) => `0x${part}`)
    const address = element('address', { domain, bus, slot, function: fn })
    const how = { mode: 'subsystem', type: 'pci', managed: 'yes' }
    return element('hostdev', how, element('source', {}, address))
  })
}

function seenNode({ vcpus, memoryMb }: GuestNode, id: number): XmlElement {
  const memory = memoryMb * KIB_PER_MIB
  return element('cell', { id, cpus: vcpus.join(','), memory, unit: 'KiB' })
}

/** As memory files, which need no file system of large pages to be mounted. */
function pages(size: number): XmlElement {
  return element(
    'memoryBacking',
    {},
    element('hugepages', {}, element('page', { size, unit: 'KiB' })),
    element('source', { type: 'memfd' }),
  )
}

function pinning(pins: readonly number[]): XmlElement {
  return element(
    'cputune',
    {},
    ...pins.map((cpuset, vcpu) => element('vcpupin', { vcpu, cpuset })),
    element('emulatorpin', { cpuset: pins.join(',') }),
  )
}

function memoryOf(nodes: readonly GuestNode[]): XmlElement {
  const mode = 'strict'
  return element(
    'numatune',
    {},
    element('memory', { mode, nodeset: nodes.map(({ hostNode }) => hostNode).join(',') }),
    ...nodes.map(({ hostNode }, cellid) => element('memnode', { cellid, mode, nodeset: hostNode })),
  )
}
