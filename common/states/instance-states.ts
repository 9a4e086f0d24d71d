/** The stable half of an instance's state: Nova's vm_state names, kept so that operators recognise them. */
export const VM_STATES = [
  'building',
  'active',
  'stopped',
  'paused',
  'suspended',
  'rescued',
  'resized',
  'shelved',
  'shelved_offloaded',
  'soft-delete',
  'deleted',
  'error',
] as const
export type VmState = (typeof VM_STATES)[number]

/** What is being done to an instance right now; null when nothing is. Nova's task_state names. */
export const TASKS = [
  'scheduling',
  'networking',
  'spawning',
  'powering-off',
  'powering-on',
  'rebooting',
  'rebooting_hard',
  'pausing',
  'unpausing',
  'deleting',
] as const
export type Task = (typeof TASKS)[number]

/** Nova's power_state numbers, which clients see as OS-EXT-STS:power_state. */
export const POWER_STATES = {
  nostate: 0,
  running: 1,
  paused: 3,
  shutdown: 4,
  crashed: 6,
  suspended: 7,
} as const
export type PowerState = keyof typeof POWER_STATES
export type PowerNumber = (typeof POWER_STATES)[PowerState]

/** What the API calls a server's status, as far as its states can come to. */
export type ApiStatus =
  | 'BUILD'
  | 'ACTIVE'
  | 'SHUTOFF'
  | 'PAUSED'
  | 'SUSPENDED'
  | 'RESCUE'
  | 'VERIFY_RESIZE'
  | 'SHELVED'
  | 'SHELVED_OFFLOADED'
  | 'SOFT_DELETED'
  | 'DELETED'
  | 'ERROR'
  | 'REBOOT'
  | 'HARD_REBOOT'

const STATUS_OF_VM_STATE: Readonly<Record<VmState, ApiStatus>> = {
  building: 'BUILD',
  active: 'ACTIVE',
  stopped: 'SHUTOFF',
  paused: 'PAUSED',
  suspended: 'SUSPENDED',
  rescued: 'RESCUE',
  resized: 'VERIFY_RESIZE',
  shelved: 'SHELVED',
  shelved_offloaded: 'SHELVED_OFFLOADED',
  'soft-delete': 'SOFT_DELETED',
  deleted: 'DELETED',
  error: 'ERROR',
}

/** Where a task changes what the user sees (nova/api/openstack/common.py `_STATE_MAP`). */
const STATUS_OF_TASK: Readonly<
  Partial<Record<VmState, Readonly<Partial<Record<Task, ApiStatus>>>>>
> = {
  active: { rebooting: 'REBOOT', rebooting_hard: 'HARD_REBOOT' },
  stopped: { rebooting_hard: 'HARD_REBOOT' },
  paused: { rebooting_hard: 'HARD_REBOOT' },
  suspended: { rebooting_hard: 'HARD_REBOOT' },
  error: { rebooting_hard: 'HARD_REBOOT' },
}

/** What the API calls `status`: computed, never stored, so the two columns cannot disagree with it. */
export function apiStatus(vm: VmState, task: Task | null): ApiStatus {
  const byTask = task === null ? undefined : STATUS_OF_TASK[vm]?.[task]
  return byTask ?? STATUS_OF_VM_STATE[vm]
}

/** The (vm state, task) pairs that show as `status`; empty for a status that does not exist. Used by list filters. */
export function statesOfStatus(status: string): readonly { vm: VmState; task: Task | null }[] {
  const pairs = VM_STATES.flatMap((vm) => [null, ...TASKS].map((task) => ({ vm, task })))
  return pairs.filter(({ vm, task }) => apiStatus(vm, task) === status)
}
