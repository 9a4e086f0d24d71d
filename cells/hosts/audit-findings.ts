import { isDeepStrictEqual } from 'node:util'
import type { InstanceId } from '#common/ids.ts'
import { POWER_STATES, type VmState } from '#common/states/instance-states.ts'
import type { ReportedGuest } from '#openapi/wire/host.ts'
import type { ReleasedVolume } from '#openapi/wire/volume.ts'
import type { Instance } from '../conductor/instance.ts'

/** Where the database and a host disagree about a guest. */
export type AuditFinding =
  /** It should run, and its host went off under it. */
  | { readonly kind: 'interrupted'; readonly instance: Instance }
  /** It has stopped, or is gone (power state `nostate`), though it should run. */
  | { readonly kind: 'stopped'; readonly instance: Instance; readonly powerState: number }
  /** Its host's backend counts it as failed. */
  | {
      readonly kind: 'failed'
      readonly instance: Instance
      readonly powerState: number
      readonly reason: string
    }
  /** It was in ERROR for that alone, and its host's backend does not count it as failed any more. */
  | { readonly kind: 'recovered'; readonly instance: Instance; readonly powerState: number }
  /** Its host has paused it, because a disk has no room. */
  | {
      readonly kind: 'no-space'
      readonly instance: Instance
      readonly powerState: number
      readonly reason: string
    }
  /** Its host had paused it for that, and has not any more. */
  | { readonly kind: 'has-space'; readonly instance: Instance; readonly powerState: number }
  /** It has released volumes after their detach had been given up. */
  | {
      readonly kind: 'released'
      readonly instance: Instance
      readonly volumes: readonly ReleasedVolume[]
    }
  /** It is on other NUMA nodes than it holds anything of. */
  | {
      readonly kind: 'nodes'
      readonly instance: Instance
      /** Of each of its vCPUs. */
      readonly hostNodes: readonly number[]
    }
  /** It runs though it should not. */
  | { readonly kind: 'running'; readonly instance: Instance; readonly powerState: number }
  /** The guest is in a power state that changes nothing but the shown state. */
  | { readonly kind: 'power'; readonly instance: Instance; readonly powerState: number }
  | { readonly kind: 'unknown'; readonly id: InstanceId }

const OFF: readonly number[] = [POWER_STATES.nostate, POWER_STATES.shutdown, POWER_STATES.crashed]
/** Stable states in which a guest is on the host. */
const ON_HOST: readonly VmState[] = [
  'active',
  'stopped',
  'paused',
  'suspended',
  'rescued',
  'resized',
]
/** States from which a server is started again when its host went off under it. */
const STARTED_AGAIN: readonly VmState[] = ['active', 'resized']
/** The fault of a server whose host's backend counts it as failed. */
export const FAILED_ON_HOST = 'The server has failed on its host.'
/** The fault of a server that its host has paused. */
export const NO_SPACE = 'The server is paused until there is room for its disks: a store is full.'
/** States that a guest's power alone tells apart. */
const BY_POWER: readonly VmState[] = ['active', 'stopped', 'paused', 'suspended']
const SHOULD_RUN: readonly VmState[] = ['active', 'paused']

/** The state of an instance according to its guest, for a host that is believed. */
export function stateOnHost(
  { vmState }: Pick<Instance, 'vmState'>,
  powerState: number,
): Pick<Instance, 'vmState' | 'powerState'> {
  if (!BY_POWER.includes(vmState)) return { vmState, powerState }
  if (powerState === POWER_STATES.running) return { vmState: 'active', powerState }
  if (powerState === POWER_STATES.paused) return { vmState: 'paused', powerState }
  return { vmState: vmState === 'suspended' ? vmState : 'stopped', powerState }
}

/**
 * Compares a host's guests with the cell's rows of them (nova: `_sync_instance_power_state`). Instances held by a saga
 * are skipped.
 */
export function auditFindings(
  instances: readonly Instance[],
  guests: readonly ReportedGuest[],
): readonly AuditFinding[] {
  const reported = new Map(guests.map((guest) => [guest.id, guest]))
  const known = new Set<string>(instances.map(({ id }) => id))
  const unknown = guests
    .filter(({ id }) => !known.has(id))
    .map(({ id }): AuditFinding => ({ kind: 'unknown', id: id as InstanceId }))
  const differing = instances
    .filter((instance) => instance.sagaId === null && isOnHost(instance))
    .flatMap((instance) => differenceOf(instance, reported.get(instance.id)))
  const moved = instances.flatMap((instance) => movedNodes(instance, reported.get(instance.id)))
  return [...unknown, ...differing, ...releases(instances, reported), ...moved]
}

function movedNodes(
  instance: Instance,
  reported: ReportedGuest | undefined,
): readonly AuditFinding[] {
  const hostNodes = reported?.hostNodes
  if (instance.sagaId !== null || !isOnHost(instance) || hostNodes === undefined) return []
  const held = instance.placed?.numa?.vcpus
  return isDeepStrictEqual(held, hostNodes) ? [] : [{ kind: 'nodes', instance, hostNodes }]
}

function releases(
  instances: readonly Instance[],
  reported: ReadonlyMap<string, ReportedGuest>,
): readonly AuditFinding[] {
  return instances.flatMap((instance) => {
    const volumes = reported.get(instance.id)?.released ?? []
    if (instance.sagaId !== null || volumes.length === 0) return []
    return [{ kind: 'released', instance, volumes }]
  })
}

function isOnHost(instance: Instance): boolean {
  return ON_HOST.includes(instance.vmState) || isFailedOnHost(instance)
}

function isFailedOnHost({ vmState, fault }: Instance): boolean {
  return vmState === 'error' && fault?.message === FAILED_ON_HOST
}

function differenceOf(
  instance: Instance,
  reported: ReportedGuest | undefined,
): readonly AuditFinding[] {
  const powerState = reported?.powerState ?? POWER_STATES.nostate
  const reason = reported?.fault
  if (isFailedOnHost(instance))
    return reported === undefined || reason !== undefined
      ? []
      : [{ kind: 'recovered', instance, powerState }]
  if (reason !== undefined) return [{ kind: 'failed', instance, powerState, reason }]
  const noSpace = reported?.noSpace
  if (noSpace !== undefined)
    return isPausedFor(instance, noSpace)
      ? []
      : [{ kind: 'no-space', instance, powerState, reason: noSpace }]
  const changed = changeOfPower(instance, powerState, reported)
  if (changed !== undefined) return [changed]
  if (instance.fault?.message === NO_SPACE) return [{ kind: 'has-space', instance, powerState }]
  return powerState === instance.powerState ? [] : [{ kind: 'power', instance, powerState }]
}

function isPausedFor({ fault }: Instance, reason: string): boolean {
  return fault?.message === NO_SPACE && fault.details === reason
}

/** What a change of power means beyond itself; undefined: nothing. */
function changeOfPower(
  instance: Instance,
  powerState: number,
  reported: ReportedGuest | undefined,
): AuditFinding | undefined {
  if (powerState === instance.powerState) return undefined
  if (STARTED_AGAIN.includes(instance.vmState) && reported?.endedWithHost === true)
    return { kind: 'interrupted', instance }
  if (SHOULD_RUN.includes(instance.vmState) && OFF.includes(powerState))
    return { kind: 'stopped', instance, powerState }
  if (instance.vmState === 'stopped' && powerState === POWER_STATES.running)
    return { kind: 'running', instance, powerState }
  return undefined
}
