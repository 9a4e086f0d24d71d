import type { HostId } from '#common/ids.ts'

/** What decides whether a host is fenced. */
export interface FenceableHost {
  readonly id: HostId
  readonly name: string
  /** How long it has sent no report. */
  readonly silentMs: number
  readonly servers: number
  /** An operator has cordoned it: it may be under repair. */
  readonly isDisabled: boolean
  /** It is known that no guest of it runs. */
  readonly isForcedDown: boolean
  /** Its device said that the machine was off while the host answered. */
  readonly isDeviceOfOther: boolean
}

export interface FencingTerms {
  /** After how long a host that does not answer is fenced. */
  readonly afterMs: number
  /** A host that has sent no report for so long does not answer. */
  readonly downAfterMs: number
  /** The most hosts that may not answer while one is fenced. */
  readonly hostsMax: number
  /** For how long so few hosts have not answered that one could be fenced. */
  readonly calmMs: number
  readonly hasDevice: (name: string) => boolean
  /** Hosts without a device stop their guests by themselves, once the cell has left them alone. */
  readonly stopThemselves: boolean
}

export interface FencingPlan {
  readonly fence: readonly FenceableHost[]
  /** Hosts whose servers wait for an operator, and why. */
  readonly held: readonly { readonly host: FenceableHost; readonly reason: string }[]
  /** Too many hosts do not answer for one to be fenced. */
  readonly isHeld: boolean
}

/** Of hosts that stop at once, the last signs of life are as far apart: they come every second and a half. */
const SPREAD_MS = 2_000

/**
 * Decides which hosts are to be fenced. Where many do not answer, or most, it is more likely that the cell cannot hear
 * them than that all have failed: then none is, nor soon after, because they do not all come back at once.
 */
export function planFencing(hosts: readonly FenceableHost[], terms: FencingTerms): FencingPlan {
  const { afterMs, downAfterMs, hostsMax, calmMs, hasDevice, stopThemselves } = terms
  const open = hosts.filter(({ isForcedDown }) => !isForcedDown)
  const silent = open.filter(
    ({ silentMs }) => silentMs > Math.min(downAfterMs, afterMs - SPREAD_MS),
  )
  const due = silent.filter(
    ({ silentMs, servers, isDisabled }) => silentMs > afterMs && servers > 0 && !isDisabled,
  )
  const isMany = silent.length > hostsMax
  const isMost = silent.length * 2 > open.length
  if (isMany || isMost) {
    const limit = isMany ? `CELL_FENCE_HOSTS_MAX is ${hostsMax}` : 'that is more than half'
    const reason = `It is not fenced: ${silent.length} of ${open.length} hosts do not answer, and ${limit}. The cell may be cut off from them.`
    return { fence: [], held: due.map((host) => ({ host, reason })), isHeld: true }
  }
  const reasonFor = ({ name, isDeviceOfOther }: FenceableHost) => {
    if (!hasDevice(name)) return stopThemselves ? undefined : NO_DEVICE
    return isDeviceOfOther ? OF_OTHER : undefined
  }
  const fence = calmMs > afterMs ? due : []
  return {
    isHeld: false,
    fence: fence.filter((host) => reasonFor(host) === undefined),
    held: due.flatMap((host) => {
      const reason = reasonFor(host)
      return reason === undefined ? [] : [{ host, reason }]
    }),
  }
}

const NO_DEVICE =
  'It is not fenced: CELL_FENCE_DEVICES_FILE has no device of it, and CELL_SELF_FENCING is off.'
const OF_OTHER =
  'It is not fenced: its device in CELL_FENCE_DEVICES_FILE said that the machine was off while the host answered, so it is the device of another machine.'
