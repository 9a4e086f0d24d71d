import type { components } from '#openapi/federation.gen.ts'
import { age } from '../output/age.ts'
import { GIB_MB, share } from '../output/share.ts'
import type { Emphasis } from '../output/style.ts'
import type { Listing } from '../output/view.ts'

export type Host = components['schemas']['Host']

/** How hosts are shown at an instant; `cellNames` by the cells' ids. */
export function hostListing(cellNames: ReadonlyMap<string, string>, now: number): Listing<Host> {
  return {
    plural: 'hosts',
    nameOf: ({ name }) => name,
    columns: [
      { head: 'NAME', of: ({ name }) => name },
      { head: 'CELL', of: ({ cell_id }) => cellNames.get(cell_id) ?? cell_id },
      { head: 'STATE', of: hostState, emphasis: (host) => EMPHASES[hostState(host)] },
      { head: 'SERVERS', of: ({ servers }) => servers },
      {
        head: 'VCPUS',
        of: ({ used, total, reserved, ratios }) =>
          share(used.vcpus, total && total.vcpus - reserved.vcpus, ratios.vcpus),
      },
      {
        head: 'GIB',
        of: ({ used, total, reserved, ratios }) => {
          const there = total && Math.floor((total.memory_mb - reserved.memory_mb) / GIB_MB)
          return share(Math.ceil(used.memory_mb / GIB_MB), there, ratios.memory_mb)
        },
      },
      {
        head: 'DISK GB',
        of: ({ used, total, reserved, ratios }) =>
          share(used.disk_gb, total && total.disk_gb - reserved.disk_gb, ratios.disk_gb),
      },
      { head: 'DRIVER', of: ({ driver }) => driver },
      { head: 'REASON', of: reasonOf },
      { head: 'ZONE', of: ({ zone }) => zone, isWide: true },
      { head: 'FENCED BY', of: ({ fence_device }) => fence_device?.name ?? null, isWide: true },
      { head: 'SEEN', of: ({ last_seen_at }) => age(last_seen_at, now), isWide: true },
      { head: 'CAN', of: ({ capabilities }) => capabilities.join(','), isLong: true },
      { head: 'ID', of: ({ id }) => id, isWide: true },
    ],
  }
}

/** The most important state: a host that is down may be cordoned, too. */
function hostState({ is_up, is_cordoned, fenced_at }: Host): keyof typeof EMPHASES {
  if (fenced_at != null) return 'fenced'
  if (!is_up) return 'down'
  return is_cordoned ? 'cordoned' : 'up'
}

function reasonOf(host: Host): string | null {
  const { down_reason, fence_problem, cordon_reason, fence_device } = host
  const reason = down_reason ?? fence_problem ?? cordon_reason
  if (reason !== null || fence_device?.problem == null) return reason
  return `It cannot be fenced by ${fence_device.name}: ${fence_device.problem}`
}

const EMPHASES = {
  up: 'success',
  cordoned: 'warning',
  down: 'error',
  fenced: 'error',
} as const satisfies Record<string, Emphasis>
