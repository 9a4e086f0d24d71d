import { type Cell, cellListing } from '../cells/cell-listing.ts'
import { cellNames } from '../cells/cell-names.ts'
import { warnOfUnreachable } from '../cells/warn-of-unreachable.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import type { Host } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import { bar } from '../output/bar.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Column, renderTable } from '../output/table.ts'
import type { View } from '../output/view.ts'

/** Shows how full the cells are, and their hosts, the fullest first. */
export async function showTop(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const [{ cells }, hosts] = await Promise.all([
      session.federation.ask('get', '/v1/cells'),
      allHosts(session),
    ])
    warnOfUnreachable(operator, cells)
    return topView(cells, hosts, Date.now())
  })
}

/** Of cells and hosts at an instant. */
function topView(cells: readonly Cell[], hosts: readonly Host[], now: number): View {
  const fullestFirst = hosts.toSorted((a, b) => load(b) - load(a))
  return {
    data: { cells, hosts: fullestFirst },
    names: fullestFirst.map(({ name }) => name),
    text: (isWide, style) => {
      const columns = cellListing(now).columns.filter((column) => isWide || column.isWide !== true)
      return [
        renderTable(cells, columns, style),
        renderTable(fullestFirst, loadColumns(cellNames(cells)), style),
      ].join('\n')
    },
  }
}

function loadColumns(names: ReadonlyMap<string, string>): readonly Column<Host>[] {
  return [
    { head: 'HOST', of: ({ name }) => name },
    { head: 'CELL', of: ({ cell_id }) => names.get(cell_id) ?? cell_id },
    { head: 'SERVERS', of: ({ servers }) => servers },
    { head: 'VCPUS', of: ({ used, total }) => total && bar(used.vcpus, total.vcpus) },
    { head: 'MEMORY', of: ({ used, total }) => total && bar(used.memory_mb, total.memory_mb) },
    { head: 'DISK', of: ({ used, total }) => total && bar(used.disk_gb, total.disk_gb) },
  ]
}

/** The used share of the resource that is closest to exhaustion. */
function load({ used, total }: Host): number {
  if (total === null) return 0
  const shares = [
    used.vcpus / total.vcpus,
    used.memory_mb / total.memory_mb,
    used.disk_gb / total.disk_gb,
  ]
  return Math.max(...shares.filter(Number.isFinite), 0)
}
