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

/** The task under way on an instance; null when there is none. Names of Nova's task_state. */
export const TASKS = [
  'scheduling',
  'block_device_mapping',
  'networking',
  'spawning',
  'image_snapshot_pending',
  'image_snapshot',
  'image_pending_upload',
  'image_uploading',
  'image_backup',
  'updating_password',
  'resize_prep',
  'resize_migrating',
  'resize_migrated',
  'resize_finish',
  'resize_reverting',
  'resize_confirming',
  'rebooting',
  'reboot_pending',
  'reboot_started',
  'rebooting_hard',
  'reboot_pending_hard',
  'reboot_started_hard',
  'pausing',
  'unpausing',
  'suspending',
  'resuming',
  'powering-off',
  'powering-on',
  'rescuing',
  'unrescuing',
  'rebuilding',
  'rebuild_block_device_mapping',
  'rebuild_spawning',
  'migrating',
  'deleting',
  'soft-deleting',
  'restoring',
  'shelving',
  'shelving_image_pending_upload',
  'shelving_image_uploading',
  'shelving_offloading',
  'unshelving',
] as const
export type Task = (typeof TASKS)[number]

/** The root device of a server, as Nova names it before a host is known; a guest may have another name for it. */
export const ROOT_DEVICE = '/dev/vda'

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

/** The statuses that the API can show for the states of a server. */
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
  | 'PASSWORD'
  | 'REBUILD'
  | 'MIGRATING'
  | 'RESIZE'
  | 'REVERT_RESIZE'

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

type Shown = Readonly<Partial<Record<Task, ApiStatus>>>

const REBUILD: Shown = {
  rebuilding: 'REBUILD',
  rebuild_block_device_mapping: 'REBUILD',
  rebuild_spawning: 'REBUILD',
}
const RESIZE: Shown = {
  resize_prep: 'RESIZE',
  resize_migrating: 'RESIZE',
  resize_migrated: 'RESIZE',
  resize_finish: 'RESIZE',
}
const MIGRATING: Shown = { migrating: 'MIGRATING' }

/** Where a task changes what the user sees (nova/api/openstack/common.py `_STATE_MAP`). */
const STATUS_OF_TASK: Readonly<Partial<Record<VmState, Shown>>> = {
  active: {
    rebooting: 'REBOOT',
    reboot_pending: 'REBOOT',
    reboot_started: 'REBOOT',
    rebooting_hard: 'HARD_REBOOT',
    reboot_pending_hard: 'HARD_REBOOT',
    reboot_started_hard: 'HARD_REBOOT',
    ...REBUILD,
    ...RESIZE,
    ...MIGRATING,
    updating_password: 'PASSWORD',
  },
  stopped: { ...REBUILD, ...RESIZE },
  paused: MIGRATING,
  resized: { resize_reverting: 'REVERT_RESIZE' },
  error: REBUILD,
}

/** The `status` of the API: computed, never stored, so the two columns cannot disagree with it. */
export function apiStatus(vm: VmState, task: Task | null): ApiStatus {
  const byTask = task === null ? undefined : STATUS_OF_TASK[vm]?.[task]
  return byTask ?? STATUS_OF_VM_STATE[vm]
}

/** The (vm state, task) pairs that show as `status`; empty for a status that does not exist. Used by list filters. */
export function statesOfStatus(status: string): readonly { vm: VmState; task: Task | null }[] {
  const pairs = VM_STATES.flatMap((vm) => [null, ...TASKS].map((task) => ({ vm, task })))
  return pairs.filter(({ vm, task }) => apiStatus(vm, task) === status)
}
