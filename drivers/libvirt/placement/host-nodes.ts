import { attributeAt, elementsAt, parseXml, textAt } from '../xml/parse.ts'

const KIB_PER_MIB = 1024

/** A part of the host whose CPUs and memory are close to each other. */
export interface HostNode {
  readonly id: number
  readonly cpus: readonly number[]
  readonly memoryMb: number
  /** How many pages there are, taken or not, by their size in KiB. */
  readonly pages: ReadonlyMap<number, number>
}

/** From libvirt's capabilities. */
export function hostNodes(capabilities: string): readonly HostNode[] {
  const cells = elementsAt(
    parseXml(capabilities),
    ...['capabilities', 'host', 'topology', 'cells', 'cell'],
  )
  return cells.map((cell) => ({
    id: Number(attributeAt(cell, 'id')),
    cpus: elementsAt(cell, 'cpus', 'cpu').map((cpu) => Number(attributeAt(cpu, 'id'))),
    memoryMb: Math.floor(
      Number(elementsAt(cell, 'memory').map((each) => textAt(each))[0] ?? 0) / KIB_PER_MIB,
    ),
    pages: new Map(
      elementsAt(cell, 'pages').map((page) => [
        Number(attributeAt(page, 'size')),
        Number(textAt(page)),
      ]),
    ),
  }))
}
