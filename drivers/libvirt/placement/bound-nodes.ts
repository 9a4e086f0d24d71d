import { attributeAt, elementsAt, textAt, type XmlTree } from '../xml/parse.ts'
import { cpusIn } from './cpus-in.ts'
import type { HostNode } from './host-nodes.ts'

/** Of `numatune`: memory is of these nodes, or there is none (libvirt's formatdomain). */
const BINDING_MODES = ['strict', 'restrictive', '']

/**
 * For each vCPU the NUMA node of the host on which a domain of somebody else's making keeps it: that of the CPUs on which it
 * may run, or where these are of several, that of its memory. Undefined where one may be on several nodes.
 */
export function boundNodes(
  xml: XmlTree,
  nodes: readonly HostNode[],
): readonly number[] | undefined {
  const nodeOfCpu = new Map(nodes.flatMap(({ id, cpus }) => cpus.map((cpu) => [cpu, id] as const)))
  const nodeOfCpus = (cpuset: string) => single(cpusIn(cpuset).map((cpu) => nodeOfCpu.get(cpu)))
  const pins = new Map(
    elementsAt(xml, 'domain', 'cputune', 'vcpupin').map((pin) => [
      Number(attributeAt(pin, 'vcpu')),
      attributeAt(pin, 'cpuset'),
    ]),
  )
  const others = attributeAt(xml, 'cpuset', 'domain', 'vcpu')
  const memory = memoryNodes(xml)
  const count = Number(textAt(xml, 'domain', 'vcpu'))
  const found = Array.from(
    { length: count },
    (_, vcpu) => nodeOfCpus(pins.get(vcpu) ?? others) ?? memory(vcpu),
  )
  return found.length > 0 && found.every((node) => node !== undefined) ? found : undefined
}

/** The node to which the memory beside a vCPU is bound; undefined: to none, or to several. */
function memoryNodes(xml: XmlTree): (vcpu: number) => number | undefined {
  const bound = (element: XmlTree) =>
    BINDING_MODES.includes(attributeAt(element, 'mode'))
      ? single(cpusIn(attributeAt(element, 'nodeset')))
      : undefined
  const [all] = elementsAt(xml, 'domain', 'numatune', 'memory').map(bound)
  const ofCell = new Map(
    elementsAt(xml, 'domain', 'numatune', 'memnode').map((each) => [
      attributeAt(each, 'cellid'),
      bound(each),
    ]),
  )
  const cells = elementsAt(xml, 'domain', 'cpu', 'numa', 'cell').map((cell, place) => ({
    id: attributeAt(cell, 'id') || String(place),
    vcpus: cpusIn(attributeAt(cell, 'cpus')),
  }))
  return (vcpu) => {
    const cell = cells.find(({ vcpus }) => vcpus.includes(vcpu))
    return cell !== undefined && ofCell.has(cell.id) ? ofCell.get(cell.id) : all
  }
}

function single<T>(values: readonly T[]): T | undefined {
  const [one, ...more] = new Set(values)
  return more.length === 0 ? one : undefined
}
