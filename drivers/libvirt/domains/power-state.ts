import type { PowerState } from '#common/states/instance-states.ts'

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
const EVENT_STOPPED = 5
/** virDomainEventStoppedDetailType. */
const STOPPED_CRASHED = 2

export function powerStateOf(domainState: number): PowerState {
  return BY_DOMAIN_STATE[domainState] ?? 'nostate'
}

export function powerStateAfter(event: number, detail: number): PowerState | undefined {
  if (event === EVENT_STOPPED && detail === STOPPED_CRASHED) return 'crashed'
  return BY_EVENT[event]
}
