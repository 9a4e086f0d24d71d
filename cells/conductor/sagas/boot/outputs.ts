import type { HostId } from '#common/ids.ts'
import type { MachineNic } from '#openapi/wire/instance.ts'
import type { HeldAmounts, NumaAllocation } from '#openapi/wire/numa.ts'
import type { BootCall } from './params.ts'

/** Hosts that are tried before the cell gives up, the first included (Nova: scheduler/max_attempts). */
export const BOOT_TRIES = 3

/** The outcome of a claim. Types, not interfaces: they are logged as JSON. */
export type Claimed =
  | {
      readonly outcome: 'claimed'
      readonly placed: {
        readonly hostId: HostId
        readonly host: string
        readonly hypervisorHostname: string
        readonly zone: string
        readonly numa?: NumaAllocation
        readonly held?: HeldAmounts
      }
      readonly version: number
      /** Names of hosts that had filled up. */
      readonly lost: readonly string[]
    }
  | { readonly outcome: 'none'; readonly reason: string }
  /** A delete has taken the instance from the boot. */
  | { readonly outcome: 'unwanted' }

export type Spawned =
  | {
      readonly outcome: 'running'
      readonly powerState: number
      readonly machineNics?: MachineNic[]
    }
  /** Nothing is left on the host; `isFinal`: no other host would do better. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly isFinal: boolean }
  | { readonly outcome: 'unwanted' }

export const claimStep = (nth: number) => `claim-${nth}`
export const spawnStep = (nth: number) => `spawn-${nth}`

export const claimOf = (call: BootCall, nth: number) => call.output<Claimed>(claimStep(nth))
export const spawnOf = (call: BootCall, nth: number) => call.output<Spawned>(spawnStep(nth))

/** The claim and spawn that decide now: the last that have an output. */
export function latest(call: BootCall): { claimed: Claimed; spawned: Spawned | undefined } {
  for (let nth = BOOT_TRIES; nth >= 1; nth -= 1) {
    const claimed = claimOf(call, nth)
    if (claimed !== undefined) return { claimed, spawned: spawnOf(call, nth) }
  }
  return { claimed: { outcome: 'none', reason: 'Nothing was claimed.' }, spawned: undefined }
}

/** Ids of the hosts that have been tried before the nth claim. */
export function triedHosts(call: BootCall, nth: number): ReadonlySet<HostId> {
  const tried = new Set<HostId>()
  for (let before = 1; before < nth; before += 1) {
    const claimed = claimOf(call, before)
    if (claimed?.outcome === 'claimed') tried.add(claimed.placed.hostId)
  }
  return tried
}

/** True when the build failed and another host may be tried. */
export function mayTryAgain(call: BootCall, nth: number): boolean {
  const before = spawnOf(call, nth - 1)
  return before?.outcome === 'failed' && !before.isFinal
}

/** Why there is no server in the end; undefined while there may be one, and for one that is to be deleted. */
export function failureOf(call: BootCall): string | undefined {
  const { claimed, spawned } = latest(call)
  const isOver = claimed.outcome === 'none' || spawned?.outcome === 'failed'
  if (!isOver) return undefined
  const refusals = [...refusalsBefore(call, BOOT_TRIES + 1).values()].map(
    ({ host, reason }) => `Host ${host} could not build it: ${reason}`,
  )
  return [...refusals, ...(claimed.outcome === 'none' ? [claimed.reason] : [])].join(' ')
}

/** Why hosts have failed to build the server before the nth claim, in order, by the host's name. */
export function refusalsBefore(
  call: BootCall,
  nth: number,
): ReadonlyMap<string, { readonly host: string; readonly reason: string }> {
  const refusals = new Map<string, { readonly host: string; readonly reason: string }>()
  for (let before = 1; before < nth; before += 1) {
    const claimed = claimOf(call, before)
    const spawned = spawnOf(call, before)
    if (claimed?.outcome !== 'claimed' || spawned?.outcome !== 'failed') continue
    const { host } = claimed.placed
    refusals.set(host, { host, reason: spawned.reason })
  }
  return refusals
}

/** How the end of a boot went: `taken` when a delete had the instance before. */
export type Ended = { readonly outcome: 'ended' | 'taken' }

export const ACTIVATE = 'activate'
export const GIVE_UP = 'give-up'

/** True when a delete took the instance from the boot, wherever that was. */
export function isPreempted(call: BootCall): boolean {
  const { claimed, spawned } = latest(call)
  if (claimed.outcome === 'unwanted' || spawned?.outcome === 'unwanted') return true
  const ends = [ACTIVATE, GIVE_UP].map((step) => call.output<Ended>(step))
  return ends.some((end) => end?.outcome === 'taken')
}
