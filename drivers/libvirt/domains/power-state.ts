import type { PowerState } from '#common/states/instance-states.ts'

/** As libvirt counts: virDomainState, and why it is so. */
export interface DomainState {
  readonly state: number
  /** Means something within its state only, such as virDomainShutoffReason. */
  readonly reason: number
}

/** Power states in which nothing of the guest runs. */
export const OFF: ReadonlySet<PowerState> = new Set(['shutdown', 'crashed', 'nostate'])

/** virDomainState by number (include/libvirt/libvirt-domain.h). */
const BY_DOMAIN_STATE: readonly PowerState[] = [
  'nostate',
  'running',
  'running', // blocked: waiting for the host
  'paused',
  'running', // shutting down, and still there
  'shutdown',
  'crashed',
  'suspended',
]

/** virDomainEventType by number; undefined where the event changes no power state. */
const BY_EVENT: readonly (PowerState | undefined)[] = [
  undefined, // defined
  undefined, // undefined
  'running', // started
  'paused', // suspended
  'running', // resumed
  'shutdown', // stopped
  undefined, // shutdown: the guest is done, and "stopped" follows
  'suspended',
  'crashed',
]
const STATE_PAUSED = 3
/** virDomainPausedReason. */
const PAUSED_IO_ERROR = 5
const STATE_SHUTOFF = 5
/** virDomainShutoffReason. */
const SHUTOFF_UNKNOWN = 0
const SHUTOFF_CRASHED = 3
const SHUTOFF_MIGRATED = 4
const EVENT_SUSPENDED = 3
/** virDomainEventSuspendedDetailType. */
const SUSPENDED_MIGRATED = 1
const EVENT_STOPPED = 5
/** virDomainEventStoppedDetailType. */
const STOPPED_CRASHED = 2
const STOPPED_MIGRATED = 3
/** Its QEMU ended without the guest having shut down. */
const STOPPED_FAILED = 5

/** A guest whose QEMU ended by itself has crashed; one that was shut down or switched off has not. */
export function powerStateOf({ state, reason }: DomainState): PowerState {
  if (state === STATE_SHUTOFF && reason === SHUTOFF_CRASHED) return 'crashed'
  return BY_DOMAIN_STATE[state] ?? 'nostate'
}

/**
 * True for a domain that is off for no reason libvirt knows: its runtime state is gone, which is so after a boot of
 * the machine, and never while the daemon has seen the guest end.
 */
export function endedWithHost({ state, reason }: DomainState): boolean {
  return state === STATE_SHUTOFF && reason === SHUTOFF_UNKNOWN
}

/** True for a domain that QEMU has paused because a disk failed, also if its user has asked for a pause since. */
export function hasIoError({ state, reason }: DomainState): boolean {
  return state === STATE_PAUSED && reason === PAUSED_IO_ERROR
}

/** True for a domain whose guest runs on another host now. */
export function hasMigrated({ state, reason }: DomainState): boolean {
  return state === STATE_SHUTOFF && reason === SHUTOFF_MIGRATED
}

/** Undefined for what changes none: a guest that goes to another host is not off. */
export function powerStateAfter(event: number, detail: number): PowerState | undefined {
  if (event === EVENT_SUSPENDED && detail === SUSPENDED_MIGRATED) return undefined
  if (event === EVENT_STOPPED && detail === STOPPED_MIGRATED) return undefined
  if (event === EVENT_STOPPED && (detail === STOPPED_CRASHED || detail === STOPPED_FAILED))
    return 'crashed'
  return BY_EVENT[event]
}
