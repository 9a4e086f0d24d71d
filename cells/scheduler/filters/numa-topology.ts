import { type NumaNode, type NumaRequest, nodesFor, pageSizesToTry, pagesIn } from '#common/numa.ts'
import type { KindFilter } from '../filter.ts'

/**
 * Refuses hosts whose NUMA nodes could not hold those of the guest, even if nothing else were there. What is left of each
 * node only the host knows, at the moment at which it gives it: a boot that it refuses goes to the next one.
 */
export const numaTopologyFilter: KindFilter = {
  name: 'NUMATopologyFilter',
  concerns: ({ numa }) => numa !== null,
  by: 'kind',
  runsOnRebuild: true,
  refuse: ({ numa: nodes }, { numa: wanted }) =>
    nodes === null || wanted === null || couldHold(nodes, wanted)
      ? undefined
      : `has ${nodes.length} NUMA nodes, no ${wanted.parts.length} of them with ${needs(wanted)}`,
}

function couldHold(nodes: readonly NumaNode[], { parts, isDedicated, page }: NumaRequest): boolean {
  const sizes = nodes.flatMap(({ pages }) => Object.keys(pages).map(Number))
  return pageSizesToTry(page, sizes).some(
    (kib) =>
      nodesFor(parts, nodes, ({ cpus, dedicatedCpus, memoryMb, pages }, part) => {
        const hasMemory =
          kib === undefined
            ? part.memoryMb <= memoryMb
            : pagesIn(part.memoryMb, kib) <= (pages[kib] ?? 0)
        return hasMemory && part.vcpus.length <= (isDedicated ? dedicatedCpus : cpus)
      }) !== undefined,
  )
}

/** Of the largest part. */
function needs({ parts, isDedicated, page }: NumaRequest): string {
  const cpus = Math.max(...parts.map(({ vcpus }) => vcpus.length))
  const memoryMb = Math.max(...parts.map((part) => part.memoryMb))
  const size = typeof page === 'object' && page !== null ? `${page.kib} KiB` : page
  const pages = page === null ? '' : ` in ${size} pages`
  return `${cpus} ${isDedicated ? 'dedicated ' : ''}CPUs and ${memoryMb} MiB${pages}`
}
