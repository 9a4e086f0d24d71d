import type { components } from '#openapi/federation.gen.ts'
import { age } from '../output/age.ts'
import type { Tone } from '../output/style.ts'
import type { Listing } from '../output/view.ts'

export type Cell = components['schemas']['Cell']

const GIB_MB = 1_024

/** How cells are shown at an instant. */
export function cellListing(now: number): Listing<Cell> {
  return {
    plural: 'cells',
    nameOf: ({ name }) => name,
    columns: [
      { head: 'NAME', of: ({ name }) => name },
      { head: 'STATE', of: cellState, tone: (cell) => TONES[cellState(cell)] },
      { head: 'HOSTS', of: ({ summary }) => summary && `${summary.hosts_up}/${summary.hosts}` },
      { head: 'SERVERS', of: ({ summary }) => summary && summary.servers },
      { head: 'FREE VCPUS', of: ({ summary }) => summary && summary.free.vcpus },
      {
        head: 'FREE GIB',
        of: ({ summary }) => summary && Math.floor(summary.free.memory_mb / GIB_MB),
      },
      { head: 'TYPES', of: ({ summary }) => summary && summary.hypervisor_types.join(',') },
      { head: 'HEARD', of: ({ last_heard_at }) => age(last_heard_at, now) },
      { head: 'REASON', of: ({ disabled_reason }) => disabled_reason },
      { head: 'ZONES', of: ({ summary }) => summary && summary.zones.join(','), isWide: true },
      { head: 'FREE DISK GB', of: ({ summary }) => summary && summary.free.disk_gb, isWide: true },
      { head: 'WEIGHT', of: ({ weight }) => weight, isWide: true },
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

/** What matters most about it. */
function cellState({ is_reachable, is_enabled, loss }: Cell): keyof typeof TONES {
  if (loss !== null) return 'lost'
  if (!is_reachable) return 'unreachable'
  return is_enabled ? 'up' : 'disabled'
}

const TONES = {
  up: 'good',
  disabled: 'doubtful',
  unreachable: 'bad',
  lost: 'bad',
} as const satisfies Record<string, Tone>
