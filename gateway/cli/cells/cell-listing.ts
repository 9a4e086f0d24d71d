import type { components } from '#openapi/federation.gen.ts'
import { age } from '../output/age.ts'
import { GIB_MB, share } from '../output/share.ts'
import type { Emphasis } from '../output/style.ts'
import type { Listing } from '../output/view.ts'

export type Cell = components['schemas']['Cell']

/** How cells are shown at an instant. */
export function cellListing(now: number): Listing<Cell> {
  return {
    plural: 'cells',
    nameOf: ({ name }) => name,
    columns: [
      { head: 'NAME', of: ({ name }) => name },
      { head: 'STATE', of: cellState, emphasis: (cell) => EMPHASES[cellState(cell)] },
      { head: 'HOSTS', of: ({ summary }) => summary && `${summary.hosts_up}/${summary.hosts}` },
      { head: 'SERVERS', of: ({ summary }) => summary && summary.servers },
      { head: 'VCPUS', of: ({ summary }) => used(summary, 'vcpus', 1) },
      { head: 'GIB', of: ({ summary }) => used(summary, 'memory_mb', GIB_MB) },
      { head: 'DISK GB', of: ({ summary }) => used(summary, 'disk_gb', 1) },
      { head: 'HYPERVISORS', of: ({ summary }) => summary && summary.hypervisor_types.join(',') },
      { head: 'SEEN', of: ({ last_heard_at }) => age(last_heard_at, now) },
      { head: 'REASON', of: ({ loss, disabled_reason }) => loss?.statement ?? disabled_reason },
      { head: 'ZONES', of: ({ summary }) => summary && summary.zones.join(','), isWide: true },
      { head: 'FREE VCPUS', of: ({ summary }) => summary && summary.free.vcpus, isWide: true },
      {
        head: 'FREE GIB',
        of: ({ summary }) => summary && Math.floor(summary.free.memory_mb / GIB_MB),
        isWide: true,
      },
      { head: 'FREE DISK GB', of: ({ summary }) => summary && summary.free.disk_gb, isWide: true },
      { head: 'WEIGHT', of: ({ weight }) => weight, isWide: true },
      {
        head: 'NO TUNNEL TO',
        of: ({ failed_tunnels }) => failed_tunnels.map(({ cell }) => cell).join(','),
        isWide: true,
      },
      { head: 'TRANSPORT ZONE', of: ({ transport_zone }) => transport_zone, isWide: true },
      { head: 'RECOVERED AFTER', of: recoveredAfter, isWide: true },
      {
        head: 'LABELS',
        of: ({ labels }) =>
          Object.entries(labels)
            .map(([key, value]) => `${key}=${value}`)
            .join(' '),
        isWide: true,
      },
      {
        head: 'TAINTS',
        of: ({ taints }) =>
          taints
            .map(({ key, value, effect }) => `${key}${value === '' ? '' : `=${value}`}:${effect}`)
            .join(' '),
        isWide: true,
      },
      {
        head: 'ARCH',
        of: ({ summary }) => summary && summary.architectures.join(','),
        isWide: true,
      },
      { head: 'RELEASE', of: ({ summary }) => summary && summary.release, isWide: true },
      { head: 'RESYNC', of: ({ needs_resync }) => needs_resync, isWide: true },
      { head: 'AGE', of: ({ created_at }) => age(created_at, now), isWide: true },
      { head: 'ID', of: ({ id }) => id, isWide: true },
    ],
  }
}

/** The sum over all hosts, with their overcommit as one ratio; null for a cell that does not report it. */
function used(
  summary: Cell['summary'],
  name: 'vcpus' | 'memory_mb' | 'disk_gb',
  unit: number,
): string | null {
  if (summary?.used == null || summary.total === null || summary.limits === null) return null
  const total = summary.total[name]
  const ratio = total === 0 ? 1 : Math.round((10 * summary.limits[name]) / total) / 10
  return share(Math.ceil(summary.used[name] / unit), Math.floor(total / unit), ratio)
}

/** How long it has to be unreachable before it is given up; null: never. */
function recoveredAfter({ recover_after_s: after }: Cell): string | null {
  return after == null ? null : `${after} s`
}

/** The most important state: a lost or unreachable cell may be disabled, too. */
function cellState({ is_reachable, is_enabled, loss }: Cell): keyof typeof EMPHASES {
  if (loss !== null) return 'lost'
  if (!is_reachable) return 'unreachable'
  return is_enabled ? 'up' : 'disabled'
}

const EMPHASES = {
  up: 'success',
  disabled: 'warning',
  unreachable: 'error',
  lost: 'error',
} as const satisfies Record<string, Emphasis>
